package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// TestFixFinishes: --fix corrects any number of mistakes, also behind ones that have no correction,
// and says what is left.
func TestFixFinishes(t *testing.T) {
	t.Parallel()
	const wrong, unknown = "max_batchsize: 1 # here\n", "nothing_like_it_at_all: 1\n"
	var inputs strings.Builder
	for i := range 150 {
		fmt.Fprintf(&inputs, "input { nam: \"INPUT%d\" dms: [ 1 ] datatype: FP32 }\noutput { nam: \"OUTPUT%d\" dms: [ 1 ] datatype: FP32 }\n", i, i)
	}
	for _, c := range []struct {
		name, src         string
		code, fixed, left int
		after             string
	}{
		{name: "one", src: wrong, code: 0, fixed: 1, after: "max_batch_size: 1  # here"},
		{name: "more than the linter lists", src: inputs.String(), code: 0, fixed: 1200, after: "input { name: \"INPUT149\" dims: [ 1 ] data_type: TYPE_FP32 }"},
		{name: "behind those without a correction", src: strings.Repeat(unknown, 25) + strings.Repeat("inptu { }\n", 400), code: 1, fixed: 400, left: 25, after: "input { }"},
		{name: "nothing to correct", src: unknown, code: 1, left: 1, after: unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "m", "config.pbtxt")
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1"), 0o755))
			require.NoError(t, os.WriteFile(file, []byte("backend: \"identity\"\n"+c.src), 0o644))
			code, out, errs := clitest.Run(t, nil, "repo", "lint", "--fix", dir)
			require.Equal(t, c.code, code, out+errs)
			require.Equal(t, c.fixed, strings.Count(errs, "corrected: "), errs)
			listed := strings.Count(out, "[TRN001]\n")
			if c.left > 20 {
				require.Equal(t, 21, listed, out)
				require.Contains(t, out, "more mistakes from here on: 5 [TRN001]")
			} else {
				require.Equal(t, c.left, listed, out)
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), c.after)

			again, _, errs := clitest.Run(t, nil, "repo", "lint", "--fix", dir)
			require.Equal(t, code, again)
			require.Empty(t, errs)
			same, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(text), string(same))
		})
	}
}
