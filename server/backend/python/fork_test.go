package python

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// A process that model.py has forked off cannot answer for the instance: what it returns,
// forgets, sends or calls does not reach the server. What it logs and prints does.
func TestFork(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
import os, sys
class TritonPythonModel:
    def execute(self, requests):
        how = requests[0].request_id()
        if how == "return" and os.fork() == 0:
            return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.zeros(5, np.uint8))]) for r in requests]
        if how == "forget":
            read, write = os.pipe()
            if os.fork() == 0:
                pb_utils.Logger.log_warn("from the fork")
                print("printed", flush=True)
                requests = None
                try: pb_utils.Tensor("OUT", np.zeros(1)); pb_utils.InferenceRequest(model_name="m", inputs=[], requested_output_names=[]).exec()
                except Exception as e: print("error:", e, flush=True)
                os.write(write, b"x")
                os._exit(0)
            os.read(read, 1)
            os.close(read), os.close(write)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`)
	require.NoError(t, h.load())
	for i, how := range []string{"return", "", "forget", "", "return", ""} {
		data := floats(1000 + i)
		r := h.request(tensor.FP32, tensor.Shape{int64(1000 + i)}, data)
		r.ID = how
		responses, err := h.run(r)
		require.NoError(t, err, how)
		require.NoError(t, responses[0].Err)
		require.Equal(t, data, bytesOf(&responses[0].Outputs[0].Data), strconv.Itoa(i))
		responses[0].Release()
	}
	for _, text := range []string{"from the fork", "msg=printed", "error: a process that model.py has forked off cannot talk to the server"} {
		require.Eventually(t, func() bool { return strings.Contains(h.logged(), text) }, waitFor, tick, text)
	}
}
