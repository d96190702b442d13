package server_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
)

// needsPython returns a Python with numpy: that of .venv, else python3.
func needsPython(t *testing.T) string {
	t.Helper()
	venv, err := filepath.Abs("../.venv/bin/python")
	require.NoError(t, err)
	for _, path := range []string{venv, "python3"} {
		if exec.CommandContext(t.Context(), path, "-c", "import numpy").Run() == nil {
			return path
		}
	}
	t.Skip("needs Python with numpy: run `make .venv/.stamp`")
	return ""
}

// pythonSettings are those of the backend. The machine of a test may be busy.
func pythonSettings(interpreter string) map[string]map[string]string {
	return map[string]map[string]string{"python": {"python-executable": interpreter, "start-timeout-seconds": "600"}}
}

// writePython writes a model with a batch of 8 and dynamic batching, FP32 in and out.
func writePython(t *testing.T, dir, name, more, source string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
	config := `backend: "python" max_batch_size: 8
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
` + more
	require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	source = "import triton_python_backend_utils as pb_utils\n" + source
	require.NoError(t, os.WriteFile(filepath.Join(dir, name, "1", "model.py"), []byte(source), 0o644))
}

const doubling = `
import os
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "IN").as_numpy()
            if x[0, 0] == 13:
                error = pb_utils.TritonError("not thirteen", pb_utils.TritonError.INVALID_ARG)
                responses.append(pb_utils.InferenceResponse(error=error))
                continue
            if x[0, 0] == 666:
                os.kill(os.getpid(), 9)
            if x[0, 0] == -1:
                raise ValueError("negative")
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x * 2)]))
        return responses
`

// A Python model over HTTP and gRPC: batches, errors of one request and of a batch, and
// an end of its process, after which another one serves.
func TestPythonModel(t *testing.T) {
	t.Parallel()
	python, dir := needsPython(t), t.TempDir()
	writePython(t, dir, "double", "dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 200000 }", doubling)
	s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.BackendSettings = pythonSettings(python)
	}))
	c, g := newClient(t), dial(t, s.GRPC)
	ask := func(x int) (int, string) {
		body := fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,2],"data":[%d,2]}]}`, x)
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/double/infer", body)
		require.NoError(t, err)
		return code, text
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			code, text := ask(i)
			require.Equal(t, http.StatusOK, code, text)
			require.Contains(t, text, fmt.Sprintf(`"shape":[1,2],"data":[%d.0,4.0]`, 2*i))
		})
	}
	wg.Wait()
	all, err := g.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: "double"})
	require.NoError(t, err)
	require.EqualValues(t, 8, all.ModelStats[0].InferenceCount)
	require.Less(t, all.ModelStats[0].ExecutionCount, uint64(8))

	askRPC := func(x float32) (*inferencepb.ModelInferResponse, error) {
		raw := make([]byte, 8)
		_, err := binary.Encode(raw, binary.LittleEndian, []float32{x, 5})
		require.NoError(t, err)
		return g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
			ModelName: "double", RawInputContents: [][]byte{raw},
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "FP32", Shape: []int64{1, 2}}},
		})
	}
	resp, err := askRPC(1.5)
	require.NoError(t, err)
	var out [2]float32
	_, err = binary.Decode(resp.RawOutputContents[0], binary.LittleEndian, &out)
	require.NoError(t, err)
	require.Equal(t, [2]float32{3, 10}, out)

	code, text := ask(13)
	require.Equal(t, http.StatusBadRequest, code)
	require.JSONEq(t, `{"error":"not thirteen"}`, text)
	_, err = askRPC(-1)
	require.Equal(t, codes.Internal, status.Code(err))
	require.Contains(t, err.Error(), "Failed to process the request(s) for model 'double_0', message: ValueError: negative\n\nAt:\n")
	require.Contains(t, err.Error(), "model.py(16): execute\n")

	code, text = ask(666)
	require.Equal(t, http.StatusInternalServerError, code)
	require.Contains(t, text, "Stub process 'double_0' is not healthy. The cause: the process was ended by signal 9 (killed)")
	require.Eventually(t, func() bool {
		code, text = ask(3)
		return code == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	require.True(t, strings.Contains(text, `[6.0,4.0]`), text)
}

// TestPythonBackendDirectory: a folder of the backend directory with a model.py is a
// backend. The configuration of its models names the runtime, and --backend-config of
// the Python backend applies.
func TestPythonBackendDirectory(t *testing.T) {
	t.Parallel()
	python, dir, backends := needsPython(t), t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(`backend: "mine"`), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(backends, "mine"), 0o755))
	source := "import triton_python_backend_utils as pb_utils\n" + doubling + `
    @staticmethod
    def auto_complete_config(c):
        c.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [1, 2]})
        c.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [1, 2]})
        return c
`
	require.NoError(t, os.WriteFile(filepath.Join(backends, "mine", "model.py"), []byte(source), 0o644))
	s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.BackendDirectory = backends
		o.BackendSettings = pythonSettings(python)
	}))
	c := newClient(t)
	code, text, err := post(c, "http://"+s.HTTP+"/v2/models/m/infer", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,2],"data":[3,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, `"data":[6.0,4.0]`)
	config, err := dial(t, s.GRPC).ModelConfig(t.Context(), &inferencepb.ModelConfigRequest{Name: "m"})
	require.NoError(t, err)
	require.Equal(t, "model.py", config.GetConfig().GetRuntime())
	require.Equal(t, "mine", config.GetConfig().GetBackend())
}
