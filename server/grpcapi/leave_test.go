package grpcapi_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"triton/pkg/inferencepb"
	"triton/server/servertest"
)

// slow takes one request at a time, a long time each.
const slow = `backend: "identity"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
parameters { key: "execute_delay_ms" value { string_value: "60000" } }
instance_group { kind: KIND_CPU count: 1 }
`

func slowRequest() *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName:        "slow",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1}}},
		RawInputContents: [][]byte{{1, 0, 0, 0}},
	}
}

// TestClientsThatLeave: the work of clients that cancel, run out of time or
// disconnect ends at once, queued or running, and is counted as cancelled.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	const each = 3 // one runs, the others wait
	infer := func(ctx context.Context, conn *grpc.ClientConn) {
		for range each {
			go func() {
				_, _ = inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, slowRequest())
			}()
		}
	}
	stream := func(ctx context.Context, conn *grpc.ClientConn) {
		s, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx)
		if err != nil {
			return
		}
		for range each {
			_ = s.Send(slowRequest())
		}
	}
	for name, begin := range map[string]func(context.Context, *grpc.ClientConn){"calls": infer, "stream": stream} {
		for how, leave := range map[string]func(context.CancelFunc, *grpc.ClientConn){
			"cancel":     func(cancel context.CancelFunc, _ *grpc.ClientConn) { cancel() },
			"disconnect": func(_ context.CancelFunc, conn *grpc.ClientConn) { conn.Close() },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				server := startServer(t, servertest.Model("slow", slow))
				conn := dialTCP(t, server.GRPC)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				begin(ctx, conn)
				require.Eventually(t, func() bool {
					return strings.Contains(metricsOf(t, server), fmt.Sprintf(`nv_inference_pending_request_count{model="slow",version="1"} %d`, each-1))
				}, 30*time.Second, 5*time.Millisecond)
				leave(cancel, conn)
				require.Eventually(t, func() bool {
					text := metricsOf(t, server)
					return strings.Contains(text, `nv_inference_pending_request_count{model="slow",version="1"} 0`) &&
						canceled(text) >= each-1
				}, 30*time.Second, 5*time.Millisecond, "still there: %s", metricsOf(t, server))
			})
		}
	}
}

func metricsOf(t *testing.T, s *servertest.Server) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Metrics+"/metrics", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// canceled returns the number of failures that were cancellations.
func canceled(text string) (n int) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `nv_inference_request_failure{`) && strings.Contains(line, `reason="CANCELED"`) {
			_, _ = fmt.Sscanf(line[strings.LastIndex(line, " "):], "%d", &n)
		}
	}
	return n
}

// TestRepeat streams through a whole server with the decoupled builtin backend.
func TestRepeat(t *testing.T) {
	t.Parallel()
	server := startServer(t, servertest.Model("repeat", `backend: "repeat"
model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
`))
	stream := openStream(t, t.Context(), dialTCP(t, server.GRPC))
	const responses = 20
	for i := range 3 {
		require.NoError(t, stream.Send(repeatRequest(fmt.Sprint(i), responses)))
	}
	require.NoError(t, stream.CloseSend())
	got := map[string]int{}
	finals := 0
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Empty(t, m.GetErrorMessage())
		r := m.GetInferResponse()
		if r.GetParameters()["triton_final_response"].GetBoolParam() {
			finals++
			require.Equal(t, responses, got[r.GetId()], "the end comes last")
			continue
		}
		require.Equal(t, uint32(got[r.GetId()]), binary.LittleEndian.Uint32(r.GetRawOutputContents()[1]), "in order")
		got[r.GetId()]++
	}
	require.Equal(t, map[string]int{"0": responses, "1": responses, "2": responses}, got)
	require.Equal(t, 3, finals)
}

func repeatRequest(id string, n int) *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName: "repeat", Id: id,
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "IN", Datatype: "INT32", Shape: []int64{int64(n)}},
			{Name: "DELAY", Datatype: "UINT32", Shape: []int64{int64(n)}},
			{Name: "WAIT", Datatype: "UINT32", Shape: []int64{1}},
		},
		RawInputContents: [][]byte{make([]byte, 4*n), make([]byte, 4*n), make([]byte, 4)},
		Parameters:       map[string]*inferencepb.InferParameter{"triton_enable_empty_final_response": boolParam(true)},
	}
}
