package server_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
)

// startPython serves a repository of Python models.
func startPython(t *testing.T, dir string, more ...servertest.Option) *servertest.Server {
	t.Helper()
	python := needsPython(t)
	return servertest.Start(t, append(more, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.BackendSettings = pythonSettings(python)
	}))...)
}

// counting counts down from its input, one response for each execution.
const counting = `
import numpy as np
class TritonPythonModel:
    def initialize(self, args):
        self.left = {}
    def execute(self, requests):
        out = []
        for r in requests:
            i = r.correlation_id()
            if r.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                self.left[i] = int(r.inputs()[0].as_numpy()[0, 0])
            self.left[i] -= 1
            response = pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[self.left[i]]], np.float32))])
            out.append(self.answer(r, response, self.left[i] <= 0))
        return self.result(out)
`

// A decoupled model sends a response in each execution; another one responds in the last.
func TestPythonReschedules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const iterative = "sequence_batching { iterative_sequence: true oldest { max_candidate_sequences: 4 } }\n"
	writePython(t, dir, "last", iterative, counting+`
    def answer(self, r, response, last):
        if last: return response
        r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    def result(self, out): return out
`)
	writePython(t, dir, "each", iterative+"model_transaction_policy { decoupled: true }\n", counting+`
    def answer(self, r, response, last):
        if not last: r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        r.get_response_sender().send(response, flags=1 if last else 0)
    def result(self, out): pass
`)
	writePython(t, dir, "wrong", "", counting+`
    def answer(self, r, response, last):
        r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        return response
    def result(self, out): return out
    def execute(self, requests):
        requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        return [None] if requests[0].inputs()[0].as_numpy()[0, 0] else [5]
`)
	s := startPython(t, dir)
	c := newClient(t)
	ask := func(model string, n int) (int, string) {
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/"+model+"/infer",
			fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[%d]}]}`, n))
		require.NoError(t, err)
		return code, text
	}
	code, text := ask("last", 3)
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, `"data":[0.0]`)
	code, text = ask("wrong", 0)
	require.Equal(t, http.StatusInternalServerError, code)
	require.Contains(t, text, "message: Expected a None object in the execute function return list for reschduled request, found type '<class 'int'>'.")
	_, text = ask("wrong", 1)
	require.JSONEq(t, `{"error":"Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag."}`, text)
	require.Equal(t, []float32{3, 2, 1, 0}, stream(t, s, "each", 4))
}

// stream sends a request to a decoupled model and returns its responses.
func stream(t *testing.T, s *servertest.Server, model string, x float32) (all []float32) {
	t.Helper()
	conn, err := dial(t, s.GRPC).ModelStreamInfer(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Send(floatRequest(t, model, x)))
	require.NoError(t, conn.CloseSend())
	for {
		got, err := conn.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		require.Empty(t, got.GetErrorMessage())
		all = append(all, readFloats(t, got.GetInferResponse().GetRawOutputContents()[0])...)
	}
}

// A decoupled model answers over HTTP and gRPC while its instance takes other requests.
func TestPythonDecoupled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writePython(t, dir, "repeat", "model_transaction_policy { decoupled: true }\n", `
import threading, time
import numpy as np
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            threading.Thread(target=self.answer, args=(r,)).start()
    def answer(self, r):
        s = r.get_response_sender()
        for i in range(int(r.inputs()[0].as_numpy()[0, 0])):
            time.sleep(0.002)
            s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[i]], np.float32))]))
        s.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
`)
	s := startPython(t, dir)
	done := make(chan []float32)
	for range 4 {
		go func() { done <- stream(t, s, "repeat", 20) }()
	}
	for range 4 {
		got := <-done
		require.Len(t, got, 20)
		require.InDelta(t, 19, got[19], 0)
	}
	require.Empty(t, stream(t, s, "repeat", 0))
	g := dial(t, s.GRPC)
	require.Eventually(t, func() bool { // counted when execute returns, which may be after the last response
		all, err := g.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: "repeat"})
		return err == nil && all.ModelStats[0].InferenceStats.Success.Count == 5
	}, time.Minute, 10*time.Millisecond)
}

// floatRequest returns a request with one number.
func floatRequest(t *testing.T, model string, x float32) *inferencepb.ModelInferRequest {
	t.Helper()
	raw, err := binary.Append(nil, binary.LittleEndian, x)
	require.NoError(t, err)
	return &inferencepb.ModelInferRequest{
		ModelName: model, RawInputContents: [][]byte{raw},
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "FP32", Shape: []int64{1, 1}}},
	}
}

func readFloats(t *testing.T, raw []byte) []float32 {
	t.Helper()
	all := make([]float32, len(raw)/4)
	_, err := binary.Decode(raw, binary.LittleEndian, all)
	require.NoError(t, err)
	return all
}
