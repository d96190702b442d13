package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPythonClient drives the real binary, with the real engine, by NVIDIA's own
// Python client over HTTP and gRPC.
func TestPythonClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary and a Python client")
	}
	python := root(t, ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("no Python client in .venv: run `make .venv/.stamp`")
	}
	lib := needORT(t)
	s := serve(t, exampleModels(t), "--onnxruntime-library", lib, "--allow-client-shm=true")
	out, err := exec.CommandContext(t.Context(), python, root(t, "testdata", "python", "interop.py"), s.http, s.grpc).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), " 0 failed")
	require.Greater(t, strings.Count(string(out), "ok    "), 30)
	s.stop(t)
}
