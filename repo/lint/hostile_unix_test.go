//go:build unix

package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/repo"
	"triton/repo/lint"
)

// TestPipesAndHugeFiles: a named pipe in place of a file is reported and not opened, and a file that is
// longer than any configuration is not read.
func TestPipesAndHugeFiles(t *testing.T) {
	t.Parallel()
	const tensors = `input { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels" }`
	for backend, file := range map[string]string{
		"onnxruntime": "model.onnx", "pytorch": "model.pt", "openvino": "model.xml", "tensorrt": "model.plan", "python": "model.py", "xgboost": "model.json",
	} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			m := filepath.Join(dir, "m")
			require.NoError(t, os.MkdirAll(filepath.Join(m, "1"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(m, "config.pbtxt"), fmt.Appendf(nil, "backend: %q %s", backend, tensors), 0o600))
			require.NoError(t, unix.Mkfifo(filepath.Join(m, "1", file), 0o600))
			require.NoError(t, unix.Mkfifo(filepath.Join(m, "labels"), 0o600))
			models, err := repo.Open(dir)
			require.NoError(t, err)
			require.NotEmpty(t, lint.Check(models, lint.Options{}))
		})
	}
	t.Run("huge", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		m := filepath.Join(dir, "m")
		require.NoError(t, os.MkdirAll(filepath.Join(m, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(m, "config.pbtxt"), nil, 0o600))
		require.NoError(t, os.Truncate(filepath.Join(m, "config.pbtxt"), 50e9))
		models, err := repo.Open(dir)
		require.NoError(t, err)
		found := lint.Check(models, lint.Options{})
		require.NotEmpty(t, found)
		require.Contains(t, found[0].Msg, "longer than 16 MiB")
	})
}
