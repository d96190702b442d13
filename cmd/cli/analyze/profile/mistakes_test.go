package profile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/pkg/sharedtest"
)

// taken is in the message about the folder for generated configurations, which is there already in
// all cases. If nothing else is said, the options are accepted; nothing is measured.
const taken = `Path "output_model_repository" already exists.`

// TestMistakes compares what is said to wrong options with testdata/mistakes.txtar, which has what
// Model Analyzer says too.
func TestMistakes(t *testing.T) {
	file := filepath.Join("testdata", "mistakes.txtar")
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	file, err = filepath.Abs(file)
	require.NoError(t, err)
	var args, config string
	for i := range archive.Files {
		f := &archive.Files[i]
		name, part, ok := strings.Cut(f.Name, "/")
		require.True(t, ok, f.Name)
		switch part {
		case "args":
			args, config = string(f.Data), ""
		case "file":
			config = string(f.Data)
		case "upstream": // written by testdata/record.py
		case "ours":
			prepare(t, config)
			code, _, errs := clitest.RunAs(t, "model-analyzer", strings.Fields(args)...)
			got := answer(code, strings.Split(strings.TrimPrefix(errs, "triton: "), "\n"))
			if sharedtest.UpdateGolden() {
				f.Data = []byte(got)
				continue
			}
			require.Equal(t, string(f.Data), got, name)
		default:
			t.Fatalf("%s: no such section", f.Name)
		}
	}
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
	}
}

// prepare makes a new working directory for a case.
func prepare(t *testing.T, config string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, folder := range []string{"models", "output_model_repository"} {
		require.NoError(t, os.Mkdir(folder, 0o755))
	}
	if config != "" {
		require.NoError(t, os.WriteFile("config.yaml", []byte(config), 0o600))
	}
}

// answer returns the exit code and what was said, or "accepted".
func answer(code int, lines []string) string {
	var said []string
	accepted := false
	for _, line := range lines {
		switch line = strings.TrimRight(line, " "); {
		case strings.Contains(line, taken):
			accepted = true
		case line != "":
			said = append(said, line)
		}
	}
	if accepted && (len(said) == 0 || len(said) == 1 && strings.HasPrefix(said[0], "DEPRECATED")) {
		return "accepted\n"
	}
	return fmt.Sprintf("exit %d\n%s\n", code, strings.Join(said, "\n"))
}
