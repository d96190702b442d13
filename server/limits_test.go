package server_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
)

// oneOnly lets each caller send one request, or one request's worth of rows or bytes, in a long time.
const oneOnly = `
rules:
- {who: ['*'], allow: ['*'], models: ['*']}
limits:
- {who: ['key:a', 'key:b'], models: [m], requests_per_second: 0.001, burst: 1ms}
- {who: ['key:rows'], rows_per_second: 0.001, burst: 1ms}
- {who: ['key:bytes'], bytes_per_second: 0.001, burst: 1ms}
- {who: ['key:grpc', 'key:stream'], requests_per_second: 0.001, burst: 1ms, class: interactive}
`

// TestLimits asks a whole server more than its callers may.
func TestLimits(t *testing.T) {
	t.Parallel()
	keys, o := rights(t, oneOnly, "a", "b", "rows", "bytes", "grpc", "stream", "free")
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "1", 8)), identityModel("n"), o, servertest.With(func(o *server.Options) {
		o.SageMaker.Allow, o.SageMaker.DefaultModel = true, "m"
		o.Vertex.Allow, o.Vertex.DefaultModel, o.Vertex.PredictRoute, o.Vertex.HealthRoute = true, "m", "/predict", "/health"
	}))
	c := newClient(t)
	const row = `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,1],"data":[5]}]}`
	infer := "http://" + s.HTTP + "/v2/models/m/infer"
	for _, who := range []string{"a", "rows", "bytes"} {
		code, text := sendAs(t, c, "POST", infer, keys[who], row)
		require.Equal(t, 200, code, "%s: %s", who, text)
		resp := replyTo(t, c, infer, keys[who], row)
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode, who)
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Greater(t, after, 60, who)
		quota := map[string]string{"a": "requests", "rows": "rows", "bytes": "bytes"}[who]
		require.Contains(t, resp.Header.Get("RateLimit-Policy"), `"`+quota+`";q=1`)
		require.Contains(t, resp.Header.Get("RateLimit"), `"`+quota+`";r=0;t=`)
	}
	code, text := sendAs(t, c, "POST", infer, keys["a"], row)
	require.Equal(t, 429, code)
	require.Contains(t, text, "the limit of 0.001 requests per second of key:a for model 'm' is reached; try again in ")
	for _, url := range []string{s.SageMaker + "/invocations", s.Vertex + "/predict"} {
		code, _ := sendAs(t, c, "POST", "http://"+url, keys["a"], row)
		require.Equal(t, 429, code, "the platforms' calls count too")
	}
	resp := replyTo(t, c, infer, keys["b"], row)
	require.Equal(t, 200, resp.StatusCode, "another caller")
	require.Equal(t, `"requests";r=0;t=1000`, resp.Header.Get("RateLimit"))
	code, _ = sendAs(t, c, "POST", "http://"+s.HTTP+"/v2/models/n/infer", keys["a"], oneInt)
	require.Equal(t, 200, code, "another model")
	code, _ = sendAs(t, c, "GET", "http://"+s.HTTP+"/v2/models/m", keys["a"], "")
	require.Equal(t, 200, code, "only inference counts")
	for range 3 {
		resp := replyTo(t, c, infer, keys["free"], row)
		require.Equal(t, 200, resp.StatusCode, "no limit")
		require.Empty(t, resp.Header.Get("RateLimit"))
	}
	limitsOfGRPC(t, s.GRPC, keys)
	_, metrics := sendAs(t, c, "GET", "http://"+s.Metrics+"/metrics", keys["free"], "")
	for _, line := range []string{
		`triton_limit_refusals_total{class="standard",principal="key:a",quota="requests"} 4`,
		`triton_limit_refusals_total{class="interactive",principal="key:grpc",quota="requests"} 1`,
		`triton_class_request_count{class="interactive",model="m",version="1"} 2`,
		`triton_access_calls_total{result="limited"}`,
	} {
		require.Contains(t, metrics, line)
	}
}

// replyTo sends a request and returns the reply without its body.
func replyTo(t *testing.T, c *http.Client, url, key, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-API-Key", key)
	resp, err := c.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

// limitsOfGRPC sends two requests each as a call and in a stream.
func limitsOfGRPC(t *testing.T, addr string, keys map[string]string) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := inferencepb.NewGRPCInferenceServiceClient(conn)
	request := &inferencepb.ModelInferRequest{
		ModelName: "m", RawInputContents: [][]byte{{5, 0, 0, 0}},
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1, 1}}},
	}
	as := func(who string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "x-api-key", keys[who])
	}
	_, err = client.ModelInfer(as("grpc"), request)
	require.NoError(t, err)
	var trailer metadata.MD
	_, err = client.ModelInfer(as("grpc"), request, grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "the limit of 0.001 requests per second of key:grpc")
	details := status.Convert(err).Details()
	require.Len(t, details, 1)
	require.Greater(t, details[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration(), time.Minute)
	require.Len(t, trailer.Get("ratelimit"), 1)
	require.Len(t, trailer.Get("ratelimit-policy"), 1)
	require.Len(t, trailer.Get("grpc-retry-pushback-ms"), 1)

	stream, err := client.ModelStreamInfer(as("stream"))
	require.NoError(t, err)
	for i := range 2 {
		require.NoError(t, stream.Send(request))
		got, err := stream.Recv()
		require.NoError(t, err, "the stream goes on")
		if i == 0 {
			require.Empty(t, got.GetErrorMessage())
		} else {
			require.Contains(t, got.GetErrorMessage(), "the limit of 0.001 requests per second of key:stream for model 'm' is reached")
		}
	}
	require.NoError(t, stream.CloseSend())
}
