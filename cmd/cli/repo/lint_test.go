package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
)

// TestLintPython: --python names the interpreter that reads Python models.
func TestLintPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "m", "1", "model.py")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("class TritonPythonModel:\n    def execute(self)\n"), 0o644))
	code, out, errs := clitest.Run(t, nil, "repo", "lint", dir)
	require.Equal(t, 1, code, errs)
	require.Contains(t, out, "m/1/model.py:2:")
	require.Contains(t, out, "[TRN901]")
	code, _, errs = clitest.Run(t, nil, "repo", "lint", "--python", "", dir)
	require.Zero(t, code, errs)
	code, out, _ = clitest.Run(t, nil, "repo", "lint", "--python", "/no/python", "--severity", "note", dir)
	require.Equal(t, 1, code)
	require.Contains(t, out, "model.py is not checked: ")
}
