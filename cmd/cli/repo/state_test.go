package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

// TestState exports, compares and applies the state of a real server.
func TestState(t *testing.T) {
	t.Parallel()
	identity := servertest.Identity("INT32", "4", 8)
	s := servertest.Start(t, servertest.Model("a", identity), servertest.Model("b", identity), servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"a"}
	}))
	file := filepath.Join(t.TempDir(), "state.yaml")
	require.NoError(t, os.WriteFile(file, []byte("models:\n  b: {versions: [1]}\ntrace: {trace_rate: 9}\nowner: me\n"), 0o600))
	run := func(args ...string) (int, string, string) {
		return clitest.Run(t, nil, append(append([]string{"repo", "state"}, args...), "-u", s.HTTP)...)
	}
	code, out, errs := run("diff", file)
	require.Equal(t, 1, code, errs)
	require.Contains(t, errs, `the field "owner" of the state is not known`)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 4, out)
	require.Regexp(t, `^ACTION +MODEL +WHAT +FROM +TO +ERROR$`, lines[0])
	require.Regexp(t, `^unload +a +model +loaded +not in the state +-$`, lines[1])
	require.Regexp(t, `^load +b +model +not loaded +loaded +-$`, lines[2])
	require.Regexp(t, `^set +- +trace +trace_rate="1000" +trace_rate=9 +-$`, lines[3])
	code, dry, _ := run("apply", file, "--dry-run")
	require.Zero(t, code)
	require.Equal(t, out, dry)
	code, out, errs = run("apply", file, "--output", "json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"do": "load",`)
	code, out, _ = run("diff", file)
	require.Zero(t, code, out)
	require.Equal(t, "no differences\n", out)
	code, out, errs = run("export")
	require.Zero(t, code, errs)
	require.Regexp(t, `"models": \{\s+"b": \{\s+"versions": \[\s+1\s+\]`, out)
	exported := filepath.Join(t.TempDir(), "exported.json")
	require.NoError(t, os.WriteFile(exported, []byte(out), 0o600))
	code, out, _ = run("diff", exported)
	require.Zero(t, code, out)

	require.NoError(t, os.WriteFile(file, []byte(`{"models":{"none":{}}}`), 0o600))
	code, out, _ = run("apply", file)
	require.Equal(t, 1, code)
	require.Regexp(t, `load +none .* failed to load 'none'`, out)
	for want, args := range map[string][]string{
		"takes 1 files, 0 were given":         {"diff"},
		"unknown form \"x\"":                  {"diff", file, "--output", "x"},
		"--header number 2 is not NAME:VALUE": {"export", "-H", "a:b", "-H", "x"},
		"no such file":                        {"apply", file + ".none"},
		"the state has no \"models\"":         {"apply", writeFile(t, "{}")},
		"config is no object":                 {"diff", writeFile(t, `{"models":{"a":{"config":1}}}`)},
	} {
		code, _, errs := run(args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, errs, want)
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
