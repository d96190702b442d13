package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli"
)

// repoExample runs "triton repo example" with args and returns exit code,
// output and errors.
func repoExample(signals chan os.Signal, args ...string) (int, string, string) {
	var out, errs bytes.Buffer
	code := cli.Main(cli.World{
		Args:    append([]string{"triton", "repo", "example"}, args...),
		Stdout:  &out,
		Stderr:  &errs,
		Signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
	})
	return code, out.String(), errs.String()
}

func TestRepoExample(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	code, out, errs := repoExample(nil, dir, "--model", "simple", "--model", "identity_string")
	require.Zero(t, code, errs)
	require.Equal(t, "simple                   0.6 KiB\n"+
		"identity_string          0.4 KiB\n"+
		"serve them with: triton serve --model-repository "+dir+"\n", out)
	require.FileExists(t, filepath.Join(dir, "simple", "1", "model.onnx"))

	code, out, errs = repoExample(nil, dir, "--model", "simple")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Equal(t, "triton: "+dir+" already has simple; nothing was written; --force replaces these folders\n", errs)
	code, _, errs = repoExample(nil, dir, "--model", "simple", "--force", "--seed", "7")
	require.Zero(t, code, errs)
}

func TestRepoExampleWrongUse(t *testing.T) {
	t.Parallel()
	code, _, errs := repoExample(nil)
	require.Equal(t, 2, code)
	require.Equal(t, "triton: repo example takes one folder to write into, 0 were given\n", errs)
	code, _, _ = repoExample(nil, t.TempDir(), "--seed", "x")
	require.Equal(t, 2, code)
}

func TestRepoExampleInterrupted(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	dir := filepath.Join(t.TempDir(), "models")
	code, out, errs := repoExample(signals, dir)
	require.Equal(t, 1, code)
	require.NotContains(t, out, "serve them")
	require.Contains(t, errs, "interrupted\n")
}
