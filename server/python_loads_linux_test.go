package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/backend/python"
	"triton/server/infer"
	"triton/server/repository"
	"triton/server/servertest"
)

// heapObjects returns how many objects are in use.
func heapObjects() int {
	var m runtime.MemStats
	for range 3 { // pools give up their objects in the second one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapObjects)
}

// TestPythonLoads loads and unloads models, also one that cannot be loaded: what the
// server holds does not grow. TRITON_LOADS is how often.
func TestPythonLoads(t *testing.T) { // alone: it counts what this process holds
	if testing.Short() {
		t.Skip("-short: starts many Python processes")
	}
	t.Setenv("TMPDIR", t.TempDir())
	n, dir := number("TRITON_LOADS", 4), t.TempDir()
	writePython(t, dir, "good", "", `
class TritonPythonModel:
    def initialize(self, args):
        self.count = pb_utils.MetricFamily("loads", "", pb_utils.MetricFamily.COUNTER).Metric({})
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`)
	writePython(t, dir, "bad", "", "raise ValueError('never')\n")
	backend := python.New()
	s := startPython(t, dir, servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, nil
		o.Backends[python.Name] = backend
	}))
	c := newClient(t)
	once := func() {
		require.ErrorContains(t, s.Service().Load(t.Context(), "bad", infer.LoadOptions{}), "never")
		require.NoError(t, s.Service().Load(t.Context(), "good", infer.LoadOptions{}))
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/good/infer", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[1]}]}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
		require.NoError(t, s.Service().Unload(t.Context(), "good", false))
		require.Eventually(t, func() bool { return len(childIDs(t)) == 0 && len(names(t, os.TempDir())) == 0 }, time.Minute, 5*time.Millisecond)
	}
	for range 2 {
		once()
	}
	before, objects := resources(t), heapObjects()
	before["goroutine"] += 3 // of connections
	for range n {
		once()
	}
	var after map[string]int
	require.Eventually(t, func() bool { after = resources(t); return !more(before, after) }, time.Minute, 20*time.Millisecond,
		"before %v, after %v", before, later{func() any { return after }})
	grown := heapObjects() - objects
	require.Less(t, grown, 20*n+200, "objects of %d loads", n)
	require.Zero(t, backend.Outstanding())
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	require.NoError(t, err)
	require.Empty(t, left)
	t.Logf("%d loads: %v, %d more objects", n, after, grown)
}
