package server_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/server"
	"triton/server/servertest"
)

// seeing answers with the number in the forwarded header x-weight, or -1.
const seeing = `
import json
import numpy as np
class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(r) for r in requests]
    def answer(self, r):
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[float(json.loads(r.parameters()).get("x-weight", -1))]], np.float32))])
`

// asksSeen calls the model above with the parameters that the expression gives.
const asksSeen = seeing + `
    def answer(self, r):
        call = pb_utils.InferenceRequest(inputs=r.inputs(), requested_output_names=["OUT"], model_name="seen", parameters=%s)
        return pb_utils.InferenceResponse(call.exec().output_tensors())
`

const ensembleOfSeeing = `platform: "ensemble" max_batch_size: 8
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "seen" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } }
`

// TestForwardedHeadersReachEveryModel: on each route the headers that match reach models, the steps of
// ensembles, and models that other models call if these pass their parameters on, as in Triton.
// Reserved names are refused on each route.
func TestForwardedHeadersReachEveryModel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts Python processes")
	}
	python, dir := needsPython(t), t.TempDir()
	writePython(t, dir, "seen", "", seeing)
	writePython(t, dir, "asks", "", fmt.Sprintf(asksSeen, "json.loads(r.parameters())"))
	writePython(t, dir, "asks_without", "", fmt.Sprintf(asksSeen, "{}"))
	const model = "X-Vertex-Ai-Triton-Redirect"
	s := servertest.Start(t, servertest.Repository(dir), servertest.Model("each", ensembleOfSeeing), servertest.With(func(o *server.Options) {
		o.BackendSettings = pythonSettings(python)
		o.HTTP.Forward = regexp.MustCompile(`(?i)^(x-weight|timeout)$`)
		o.GRPC.Frontend.Forward = o.HTTP.Forward
		o.SageMaker.Allow, o.SageMaker.DefaultModel = true, "seen"
		o.Vertex.Allow, o.Vertex.PredictRoute, o.Vertex.HealthRoute, o.Vertex.DefaultModel = true, "/predict", "/health", "seen"
	}))
	c := newClient(t)
	send := func(url, body, target, header string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+url, strings.NewReader(body))
		require.NoError(t, err)
		r.Header[header] = []string{"7"}
		if target != "" {
			r.Header.Set(model, target)
		}
		resp, err := c.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	const tensors, flat = `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[1]}]}`, `{"IN":[1]}`
	for name, sees := range map[string]string{"seen": "7.0", "each": "7.0", "asks": "7.0", "asks_without": "-1.0"} {
		path := "/v2/models/" + name + "/"
		for _, to := range []struct{ url, target, body string }{
			{s.HTTP + path + "infer", "", tensors},
			{s.HTTP + path + "generate", "", flat},
			{s.HTTP + path + "generate_stream", "", flat},
			{s.Vertex + "/predict", path[1:] + "infer", tensors},
			{s.SageMaker + "/invocations", "", tensors},
			{s.Vertex + "/predict", "", tensors},
		} {
			if to.target == "" && !strings.HasPrefix(to.url, s.HTTP) && name != "seen" {
				continue // the default model
			}
			code, text := send(to.url, to.body, to.target, "x-weight")
			require.Equal(t, http.StatusOK, code, "%s %v %s", name, to, text)
			require.Regexp(t, `(data"|OUT"):\[?`+regexp.QuoteMeta(sees), text, "%s %v", name, to)
			code, text = send(to.url, to.body, to.target, "timeout")
			require.Equal(t, http.StatusBadRequest, code, text)
			require.Contains(t, text, "Header 'timeout' is reserved for Triton usage and cannot be forwarded.")
		}

		want := map[string]float32{"7.0": 7, "-1.0": -1}[sees]
		g := dial(t, s.GRPC)
		with := func(header string) (float32, string) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), header, "7")
			resp, err := g.ModelInfer(ctx, floatRequest(t, name, 1))
			stream, streamErr := g.ModelStreamInfer(ctx)
			require.NoError(t, streamErr)
			require.NoError(t, stream.Send(floatRequest(t, name, 1)))
			got, streamErr := stream.Recv()
			require.NoError(t, streamErr)
			if err != nil {
				require.Equal(t, codes.InvalidArgument, status.Code(err))
				require.Equal(t, status.Convert(err).Message(), got.GetErrorMessage())
				return 0, got.GetErrorMessage()
			}
			require.Equal(t, resp.GetRawOutputContents(), got.GetInferResponse().GetRawOutputContents())
			return readFloats(t, resp.GetRawOutputContents()[0])[0], got.GetErrorMessage()
		}
		sees, problem := with("x-weight")
		require.Empty(t, problem)
		require.InDelta(t, want, sees, 0, name)
		_, problem = with("timeout")
		require.Equal(t, "Header 'timeout' is reserved for Triton usage and cannot be forwarded.", problem)
	}
}
