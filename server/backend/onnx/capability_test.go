//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
)

// TestModelFileOfAGPU: cc_model_filenames names the file by the compute
// capability of the device, as NVIDIA's backends do.
func TestModelFileOfAGPU(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"model.onnx", "ampere.onnx"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	spec := backend.Spec{
		Name: "m", Dir: dir,
		Config:     &inferencepb.ModelConfig{CcModelFilenames: map[string]string{"8.6": "ampere.onnx", "9.0": "none.onnx"}},
		Capability: func(device int) string { return []string{"8.6", "7.5", "9.0", ""}[device] },
	}
	for device, want := range []string{"ampere.onnx", "model.onnx", "", "model.onnx"} {
		m := &model{spec: spec, path: filepath.Join(dir, "model.onnx")}
		path, err := m.gpuPath(device)
		if want == "" {
			require.ErrorContains(t, err, "failed to stat file "+filepath.Join(dir, "none.onnx"))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, want), path)
	}
	m := &model{path: "p", spec: backend.Spec{Config: spec.Config}}
	path, err := m.gpuPath(0)
	require.NoError(t, err)
	require.Equal(t, "p", path, "the capability is not known")
}
