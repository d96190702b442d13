package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPythonLoadsMemory loads and unloads a Python model TRITON_MEMORY_LOADS times. The resident
// memory of the server at the end is within 5 % of that after 20. A load that leaves 2 KiB behind
// fails it.
func TestPythonLoadsMemory(t *testing.T) {
	loads, _ := strconv.Atoi(os.Getenv("TRITON_MEMORY_LOADS"))
	if loads == 0 {
		t.Skip("TRITON_MEMORY_LOADS is not set: run `make loads`")
	}
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(`backend: "python" max_batch_size: 8
input { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] }
`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "1", "model.py"), []byte(`import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.count = pb_utils.MetricFamily("loads", "", pb_utils.MetricFamily.COUNTER).Metric({})
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`), 0o644))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	s := start(t, exec.Command(tritonBinary(t), "serve", "--model-repository", dir, "--model-control-mode=explicit",
		"--log-file="+log.Name(), needPython(t), "--backend-config=python,start-timeout-seconds=600"))
	post := func(path, body string) string {
		resp, err := http.Post("http://"+s.http+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode, string(text))
		return string(text)
	}
	load := func(n int) {
		for range n {
			post("/v2/repository/models/m/load", "")
			post("/v2/models/m/infer", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[1]}]}`)
			post("/v2/repository/models/m/unload", "")
			require.Eventually(t, func() bool { return !strings.Contains(post("/v2/repository/index", ""), `"UNLOADING"`) }, time.Minute, 5*time.Millisecond)
		}
	}
	// The server gives memory back some seconds after the last unload.
	resident := func() int {
		least := residentKiB(t, s.cmd.Process.Pid)
		for range 8 {
			time.Sleep(time.Second)
			least = min(least, residentKiB(t, s.cmd.Process.Pid))
		}
		return least
	}
	load(20)
	before := resident()
	load(loads - 20)
	after := resident()
	t.Logf("resident memory: %d KiB after 20 loads, %d KiB after %d: %+.1f %%", before, after, loads, 100*float64(after-before)/float64(before))
	require.Less(t, float64(after), 1.05*float64(before))
}

// residentKiB returns the resident memory of a process.
func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			require.NoError(t, err)
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
