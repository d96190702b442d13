package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

const willing = `
import os
class TritonPythonModel:
    def initialize(self, args):
        self.file = os.path.join(args["model_repository"], "busy")
    def is_ready(self):
        return not os.path.exists(self.file)
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
`

const asking = `
class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for r in requests:
            if not pb_utils.is_model_ready("willing"): raise ValueError("it is not ready")
            call = pb_utils.InferenceRequest(model_name="willing", inputs=r.inputs(), requested_output_names=["OUT"])
            responses.append(call.exec())
        return responses
`

// is_ready of a Python model decides the readiness of the model and, with strict readiness, of
// the server, for all its instances. Requests are served whatever it says.
func TestPythonReadiness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writePython(t, dir, "willing", "instance_group { count: 2 kind: KIND_CPU }", willing)
	writePython(t, dir, "asking", "", asking)
	s := startPython(t, dir)
	c, g := newClient(t), dial(t, s.GRPC)
	ready := func(path string, want int) {
		code, text := get(t, c, "http://"+s.HTTP+path)
		require.Equal(t, want, code, path+text)
	}
	busy := filepath.Join(dir, "willing", "busy")
	_, page := get(t, c, "http://"+s.Metrics+"/metrics")
	require.Regexp(t, `(?m)^triton_python_shared_memory_total_bytes [1-9]\d*$`, page)
	require.Regexp(t, `(?m)^triton_python_shared_memory_used_bytes \d+$`, page)
	for range 2 {
		for _, x := range []struct {
			ready bool
			code  int
		}{{true, http.StatusOK}, {false, http.StatusBadRequest}} {
			if !x.ready {
				require.NoError(t, os.WriteFile(busy, nil, 0o644))
			}
			ready("/v2/models/willing/ready", x.code)
			ready("/v2/models/willing/versions/1/ready", x.code)
			ready("/v2/models/asking/ready", http.StatusOK)
			ready("/v2/health/ready", x.code)
			answer, err := g.ModelReady(t.Context(), &inferencepb.ModelReadyRequest{Name: "willing"})
			require.NoError(t, err)
			require.Equal(t, x.ready, answer.Ready)
			const body = `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[1]}]}`
			code, text, err := post(c, "http://"+s.HTTP+"/v2/models/willing/infer", body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code, text)
			_, text, err = post(c, "http://"+s.HTTP+"/v2/models/asking/infer", body)
			require.NoError(t, err)
			if x.ready {
				require.Contains(t, text, `"data":[1.0]`)
			} else {
				require.Contains(t, text, "ValueError: it is not ready")
			}
		}
		require.NoError(t, os.Remove(busy))
	}
}
