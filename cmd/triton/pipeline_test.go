package main_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPipeline serves the ensemble of `repo example --pipeline` with the real binary and
// asks it with NVIDIA's Python client.
func TestPipeline(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary and a Python client")
	}
	python, lib, dir := needClient(t), needORT(t), filepath.Join(t.TempDir(), "models")
	out, err := exec.CommandContext(t.Context(), tritonBinary(t), "repo", "example", dir, "--pipeline").CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.CommandContext(t.Context(), tritonBinary(t), "repo", "lint", "--severity", "note", "--python", python, dir).CombinedOutput()
	require.NoError(t, err, string(out))

	s := serve(t, dir, "--onnxruntime-library", lib, "--backend-config", "python,python-executable="+python,
		"--model-control-mode=explicit", "--load-model=ensemble_pipeline")
	out, err = exec.CommandContext(t.Context(), python, root(t, "testdata", "python", "pipeline.py"), s.http, s.grpc, dir).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "8 passed, 0 failed, 0 skipped")
	s.stop(t)
}
