package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPythonClient drives the real binary, with the real backend, by NVIDIA's own
// Python client over HTTP and gRPC. `make interop` does so with older releases
// of that client and with other clients.
func TestPythonClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary and a Python client")
	}
	python, lib, models := needClient(t), needORT(t), exampleModels(t)
	s := serve(t, models, "--onnxruntime-library", lib,
		"--model-control-mode=explicit", "--load-model=*", "--allow-client-shm=true", "--cache-config=local,size=1048576",
		"--trace-config=triton,file="+filepath.Join(t.TempDir(), "trace.json"))
	out, err := exec.CommandContext(t.Context(), python, root(t, "testdata", "python", "interop.py"), s.http, s.grpc, models).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), " 0 failed")
	require.Greater(t, strings.Count(string(out), "ok    "), 150)
	s.stop(t)
}

// needClient skips the test if NVIDIA's Python client is missing, and returns the Python that
// has it.
func needClient(t *testing.T) string {
	t.Helper()
	python := root(t, ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("no Python client in .venv: run `make .venv/.stamp`")
	}
	return python
}
