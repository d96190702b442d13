package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/servertest"
)

// branches are two steps at once, and one that needs both.
const branches = `platform: "ensemble"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "t" } }
  step { model_name: "b" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "u" } }
  step {
    model_name: "c" model_version: -1
    input_map [ { key: "INPUT0" value: "t" }, { key: "INPUT1" value: "u" } ]
    output_map { key: "OUTPUT0" value: "OUT" }
  }
}
`

const twoPairs = `backend: "identity"
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ -1 ] } ]
`

// TestClientLeavesEnsemble: when the client of an ensemble disconnects, its running and queued
// steps end long before their models would be done, and no other step starts.
func TestClientLeavesEnsemble(t *testing.T) {
	t.Parallel()
	slow := servertest.Identity("INT32", "-1", 0) + `parameters { key: "execute_delay_ms" value { string_value: "600000" } }`
	for name, leave := range map[string]func(ctx context.Context, s *servertest.Server, g inferencepb.GRPCInferenceServiceClient) error{
		"http":   leaveHTTP,
		"grpc":   leaveGRPC,
		"stream": leaveStream,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, servertest.Model("a", slow), servertest.Model("b", slow), servertest.Model("c", twoPairs), servertest.Model("fork", branches))
			g := dial(t, s.GRPC)
			count := func(model string) (failed, run uint64) {
				all, err := g.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: model})
				require.NoError(t, err)
				return all.ModelStats[0].InferenceStats.Fail.Count, all.ModelStats[0].ExecutionCount
			}
			client := newClient(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			left := make(chan error)
			for range 2 {
				go func() { left <- leave(ctx, s, g) }()
			}
			for _, model := range []string{"a", "b"} { // one runs, one waits
				require.Eventually(t, func() bool {
					_, text := get(t, client, "http://"+s.Metrics+"/metrics")
					return strings.Contains(text, `nv_inference_pending_request_count{model="`+model+`",version="1"} 1`)
				}, time.Minute, time.Millisecond)
			}
			cancel()
			require.Error(t, <-left)
			require.Error(t, <-left)
			for _, model := range []string{"fork", "a", "b"} {
				require.Eventually(t, func() bool { failed, _ := count(model); return failed == 2 }, time.Minute, time.Millisecond, model)
			}
			failed, run := count("c")
			require.Zero(t, failed+run)
		})
	}
}

func leaveHTTP(ctx context.Context, s *servertest.Server, _ inferencepb.GRPCInferenceServiceClient) error {
	body := `{"inputs":[{"name":"IN","datatype":"INT32","shape":[1],"data":[1]}]}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTP+"/v2/models/fork/infer", strings.NewReader(body))
	if err != nil {
		return err
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

func fork() *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName:        "fork",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "INT32", Shape: []int64{1}}},
		RawInputContents: [][]byte{make([]byte, 4)},
	}
}

func leaveGRPC(ctx context.Context, _ *servertest.Server, g inferencepb.GRPCInferenceServiceClient) error {
	_, err := g.ModelInfer(ctx, fork())
	return err
}

func leaveStream(ctx context.Context, _ *servertest.Server, g inferencepb.GRPCInferenceServiceClient) error {
	stream, err := g.ModelStreamInfer(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(fork()); err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}
