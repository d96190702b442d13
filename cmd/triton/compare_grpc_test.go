package main_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "triton/pkg/inferencepb"
)

type rpcCase struct {
	name string
	call func(ctx context.Context, c pb.GRPCInferenceServiceClient) (proto.Message, error)
}

// askRPC is the answer as text: code and message, or the message's fields.
func askRPC(t *testing.T, s *server, c rpcCase) string {
	t.Helper()
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	m, err := c.call(t.Context(), pb.NewGRPCInferenceServiceClient(conn))
	if err != nil {
		st := status.Convert(err)
		return st.Code().String() + ": " + st.Message()
	}
	if r, ok := m.(*pb.ModelStatisticsResponse); ok {
		for _, s := range r.ModelStats {
			s.LastInference, s.InferenceCount, s.ExecutionCount, s.InferenceStats, s.BatchStats = 0, 0, 0, nil, nil
		}
	}
	text, err := prototext.MarshalOptions{Multiline: true}.Marshal(m)
	require.NoError(t, err)
	// prototext varies its spacing on purpose.
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestCompareGRPC asks both servers every question of rpcCases.
func TestCompareGRPC(t *testing.T) {
	p := newPair(t)
	same, explained := 0, 0
	for _, c := range rpcCases() {
		settle(t, "grpc "+c.name, askRPC(t, p.theirs, c), askRPC(t, p.ours, c), &same, &explained)
	}
	t.Logf("%d answers equal, %d differ for a written reason", same, explained)
}

func rpcCases() []rpcCase {
	var cases []rpcCase
	add := func(name string, call func(ctx context.Context, c pb.GRPCInferenceServiceClient) (proto.Message, error)) {
		cases = append(cases, rpcCase{name, call})
	}
	type client = pb.GRPCInferenceServiceClient
	add("ServerLive", func(ctx context.Context, c client) (proto.Message, error) {
		return c.ServerLive(ctx, &pb.ServerLiveRequest{})
	})
	add("ServerReady", func(ctx context.Context, c client) (proto.Message, error) {
		return c.ServerReady(ctx, &pb.ServerReadyRequest{})
	})
	add("ServerMetadata", func(ctx context.Context, c client) (proto.Message, error) {
		return c.ServerMetadata(ctx, &pb.ServerMetadataRequest{})
	})
	add("RepositoryIndex", func(ctx context.Context, c client) (proto.Message, error) {
		return c.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
	})
	for _, m := range []struct{ name, version string }{{"simple", ""}, {"simple", "1"}, {"simple", "9"}, {"simple", "x"}, {"nope", ""}, {"", ""}} {
		name := strings.TrimSpace(m.name + " " + m.version)
		add("ModelReady "+name, func(ctx context.Context, c client) (proto.Message, error) {
			return c.ModelReady(ctx, &pb.ModelReadyRequest{Name: m.name, Version: m.version})
		})
		add("ModelMetadata "+name, func(ctx context.Context, c client) (proto.Message, error) {
			return c.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: m.name, Version: m.version})
		})
		add("ModelConfig "+name, func(ctx context.Context, c client) (proto.Message, error) {
			return c.ModelConfig(ctx, &pb.ModelConfigRequest{Name: m.name, Version: m.version})
		})
		add("ModelStatistics "+name, func(ctx context.Context, c client) (proto.Message, error) {
			return c.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: m.name, Version: m.version})
		})
	}
	for _, c := range inferCases() {
		add("ModelInfer "+c.name, func(ctx context.Context, client client) (proto.Message, error) { return client.ModelInfer(ctx, c.req) })
	}
	return cases
}

type inferCase struct {
	name string
	req  *pb.ModelInferRequest
}

// inferCases are variations of one good request.
func inferCases() []inferCase {
	var cases []inferCase
	add := func(name string, change func(r *pb.ModelInferRequest)) {
		r := goodRequest()
		change(r)
		cases = append(cases, inferCase{name, r})
	}
	add("good", func(*pb.ModelInferRequest) {})
	add("id", func(r *pb.ModelInferRequest) { r.Id = "q-7" })
	add("one output", func(r *pb.ModelInferRequest) { r.Outputs = outputs("OUTPUT1") })
	add("unknown output", func(r *pb.ModelInferRequest) { r.Outputs = outputs("OUTPUT9") })
	add("output twice", func(r *pb.ModelInferRequest) { r.Outputs = outputs("OUTPUT1", "OUTPUT1") })
	add("unknown model", func(r *pb.ModelInferRequest) { r.ModelName = "nope" })
	add("unknown version", func(r *pb.ModelInferRequest) { r.ModelVersion = "5" })
	add("version is no number", func(r *pb.ModelInferRequest) { r.ModelVersion = "five" })
	add("typed contents", func(r *pb.ModelInferRequest) { typed(r, false) })
	add("typed and raw", func(r *pb.ModelInferRequest) { typed(r, true) })
	add("wrong field", func(r *pb.ModelInferRequest) {
		typed(r, false)
		r.Inputs[1].Contents = &pb.InferTensorContents{Fp32Contents: make([]float32, 16)}
	})
	add("too few values", func(r *pb.ModelInferRequest) {
		typed(r, false)
		r.Inputs[1].Contents.IntContents = r.Inputs[1].Contents.IntContents[:3]
	})
	add("too little raw data", func(r *pb.ModelInferRequest) { r.RawInputContents[1] = r.RawInputContents[1][:60] })
	add("raw entry missing", func(r *pb.ModelInferRequest) { r.RawInputContents = r.RawInputContents[:1] })
	add("raw entry too many", func(r *pb.ModelInferRequest) { r.RawInputContents = append(r.RawInputContents, []byte("x")) })
	add("input missing", func(r *pb.ModelInferRequest) { r.Inputs = r.Inputs[:1] })
	add("input twice", func(r *pb.ModelInferRequest) { r.Inputs[1].Name = "INPUT0" })
	add("unknown input", func(r *pb.ModelInferRequest) { r.Inputs[1].Name = "INPUT9" })
	add("wrong type", func(r *pb.ModelInferRequest) { r.Inputs[1].Datatype = "FP32" })
	add("unknown type", func(r *pb.ModelInferRequest) { r.Inputs[1].Datatype = "INT33" })
	add("wrong shape", func(r *pb.ModelInferRequest) { r.Inputs[1].Shape = []int64{1, 8} })
	add("wrong rank", func(r *pb.ModelInferRequest) { r.Inputs[1].Shape = []int64{16} })
	add("no shape", func(r *pb.ModelInferRequest) { r.Inputs[1].Shape = nil })
	add("negative dim", func(r *pb.ModelInferRequest) { r.Inputs[1].Shape = []int64{1, -16} })
	add("overflowing dims", func(r *pb.ModelInferRequest) { r.Inputs[1].Shape = []int64{1, 1 << 62} })
	add("batch sizes differ", func(r *pb.ModelInferRequest) { r.Inputs[1].Shape = []int64{2, 16} })
	add("batch too large", func(r *pb.ModelInferRequest) {
		for i := range r.Inputs {
			r.Inputs[i].Shape = []int64{9, 16}
			r.RawInputContents[i] = make([]byte, 9*64)
		}
	})
	for name, p := range map[string]*pb.InferParameter{
		"timeout of wrong type":        {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "1"}},
		"priority of wrong type":       {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "1"}},
		"sequence_start of wrong type": {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 1}},
		"triton_x reserved":            {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 1}},
		"custom parameter":             {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 1}},
		"custom uint64":                {ParameterChoice: &pb.InferParameter_Uint64Param{Uint64Param: 1}},
	} {
		add(name, func(r *pb.ModelInferRequest) {
			r.Parameters = map[string]*pb.InferParameter{strings.Fields(name)[0]: p}
		})
	}
	return cases
}

func outputs(names ...string) (out []*pb.ModelInferRequest_InferRequestedOutputTensor) {
	for _, n := range names {
		out = append(out, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: n})
	}
	return out
}

func goodRequest() *pb.ModelInferRequest {
	r := &pb.ModelInferRequest{ModelName: "simple"}
	for i := range 2 {
		r.Inputs = append(r.Inputs, &pb.ModelInferRequest_InferInputTensor{Name: fmt.Sprintf("INPUT%d", i), Datatype: "INT32", Shape: []int64{1, 16}})
		raw := make([]byte, 64)
		for j := range 16 {
			raw[4*j] = byte(i + j)
		}
		r.RawInputContents = append(r.RawInputContents, raw)
	}
	return r
}

func typed(r *pb.ModelInferRequest, keepRaw bool) {
	for _, in := range r.Inputs {
		in.Contents = &pb.InferTensorContents{}
		for j := range 16 {
			in.Contents.IntContents = append(in.Contents.IntContents, int32(j))
		}
	}
	if !keepRaw {
		r.RawInputContents = nil
	}
}
