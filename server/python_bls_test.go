package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
)

const callingOthers = `
import asyncio
import numpy as np
class TritonPythonModel:
    def initialize(self, args):
        self.name = args["model_name"]
    def call(self, r, model):
        return pb_utils.InferenceRequest(inputs=r.inputs(), requested_output_names=["OUT"], model_name=model)
    def execute(self, requests):
        return [self.answer(r) for r in requests]
    def result(self, response):
        if response.has_error():
            return pb_utils.InferenceResponse(error=response.error())
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", response.output_tensors()[0].as_numpy() + 1)])
`

// Models that call others, themselves, and each other in a circle.
func TestPythonCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writePython(t, dir, "double", "", doubling)
	writePython(t, dir, "sync", "", callingOthers+"    def answer(self, r): return self.result(self.call(r, 'double').exec())\n")
	writePython(t, dir, "async", "", callingOthers+`
    async def execute(self, requests):
        calls = [self.call(r, m).async_exec() for r in requests for m in ("double", "sync")]
        return [self.result((await asyncio.gather(*calls))[1])]
`)
	writePython(t, dir, "stream", "", callingOthers+`
    def answer(self, r):
        total = sum(x.output_tensors()[0].as_numpy()[0, 0] for x in self.call(r, "repeat").exec(decoupled=True) if x.output_tensors())
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[total]], np.float32))])
`)
	writePython(t, dir, "repeat", "model_transaction_policy { decoupled: true }\n", `
import numpy as np
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            s = r.get_response_sender()
            for i in range(int(r.inputs()[0].as_numpy()[0, 0])):
                s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[i]], np.float32))]))
            s.send(flags=1)
`)
	self := callingOthers + "    def answer(self, r): return self.result(self.call(r, %q).exec())\n"
	writePython(t, dir, "self", "", fmt.Sprintf(self, "self"))
	writePython(t, dir, "circle", "", fmt.Sprintf(self, "back"))
	writePython(t, dir, "back", "", fmt.Sprintf(self, "circle"))
	s := startPython(t, dir)
	c, g := newClient(t), dial(t, s.GRPC)
	ask := func(model string, x int) (int, string) {
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/"+model+"/infer",
			fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[%d]}]}`, x))
		require.NoError(t, err)
		return code, text
	}
	for model, want := range map[string]string{"sync": "[7.0]", "async": "[8.0]", "stream": "[3.0]"} {
		code, text := ask(model, 3)
		require.Equal(t, http.StatusOK, code, text)
		require.Contains(t, text, want, model)
	}
	code, text := ask("sync", 13)
	require.Equal(t, http.StatusBadRequest, code, "the code of the model that was called")
	require.JSONEq(t, `{"error":"not thirteen"}`, text)
	_, text = ask("sync", -1)
	require.Contains(t, text, "Failed to process the request(s) for model 'double_0', message: ValueError: negative")

	failed := func(model string) bool {
		all, err := g.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: model})
		require.NoError(t, err)
		return all.ModelStats[0].InferenceStats.Fail.Count > 0
	}
	// Only the deadline of the caller ends the calls, and all instances are free again. On a busy machine a
	// deadline may end the first of them before the models have it.
	for called, models := range map[string][]string{"self": {"self"}, "circle": {"circle", "back"}} {
		for _, model := range models {
			for limit := 200 * time.Millisecond; !failed(model); limit *= 2 {
				require.Less(t, limit, 10*time.Minute, model)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				_, err := g.ModelInfer(ctx, floatRequest(t, called, 1))
				cancel()
				require.Equal(t, codes.DeadlineExceeded, status.Code(err), called)
			}
		}
	}
}
