package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const looping = `
import time
class TritonPythonModel:
    def execute(self, requests):
        while any(r.inputs()[0].as_numpy()[0, 0] == -1 for r in requests): pass
        while any(r.inputs()[0].as_numpy()[0, 0] == -2 for r in requests): time.sleep(0.01)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`

// TestPythonExecuteLimit: a request that loops over the limit gets the cause, and a new process
// answers the requests after it.
func TestPythonExecuteLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts Python processes")
	}
	dir := t.TempDir()
	writePython(t, dir, "loops", `parameters { key: "python_execute_limit_milliseconds" value { string_value: "3000" } }`, looping) // more than a good request takes on a busy machine
	s := startPython(t, dir)
	c := newClient(t)
	ask := func(x int) (int, string) {
		body := fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[%d]}]}`, x)
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/loops/infer", body)
		require.NoError(t, err)
		return code, text
	}
	for round, endless := range []int{-1, -2} { // computes, and waits
		code, text := ask(1)
		require.Equal(t, http.StatusOK, code, text)
		code, text = ask(endless)
		require.Equal(t, http.StatusInternalServerError, code, text)
		require.Contains(t, text, "execute took longer than 3s (python_execute_limit_milliseconds)")
		require.Eventually(t, func() bool {
			code, _ := ask(2)
			return code == http.StatusOK
		}, time.Minute, 20*time.Millisecond, "round %d: the process is started again", round)
	}
	_, page := get(t, c, "http://"+s.Metrics+"/metrics")
	require.Regexp(t, `(?m)^triton_backend_restarts_total\{model="loops",version="1"\} 2$`, page)
}
