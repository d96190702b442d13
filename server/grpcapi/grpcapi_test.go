package grpcapi_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/grpcapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoRequest returns a request for a model that returns its two inputs.
func echoRequest(data []byte) *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName: "echo", Id: "42",
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "A", Datatype: "UINT8", Shape: []int64{int64(len(data))}},
			{Name: "B", Datatype: "FP16", Shape: []int64{1, 1}},
		},
		RawInputContents: [][]byte{data, {1, 2}},
	}
}

func requireEcho(t *testing.T, data []byte, resp *inferencepb.ModelInferResponse) {
	t.Helper()
	require.Equal(t, "echo", resp.GetModelName())
	require.Equal(t, "1", resp.GetModelVersion())
	require.Equal(t, "42", resp.GetId())
	require.Equal(t, "A", resp.GetOutputs()[0].GetName())
	require.Equal(t, "FP16", resp.GetOutputs()[1].GetDatatype())
	require.Equal(t, []int64{1, 1}, resp.GetOutputs()[1].GetShape())
	require.Len(t, resp.GetRawOutputContents(), 2)
	require.True(t, bytes.Equal(data, resp.GetRawOutputContents()[0]))
	require.Equal(t, []byte{1, 2}, resp.GetRawOutputContents()[1])
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i >> 3)
	}
	return b
}

func TestInfer(t *testing.T) {
	t.Parallel()
	c := inferencepb.NewGRPCInferenceServiceClient(start(t, newStub()))
	for _, n := range []int{0, 1, 1 << 10, 17 << 10, 500 << 10, 6 << 20} {
		data := pattern(n)
		resp, err := c.ModelInfer(t.Context(), echoRequest(data), grpc.MaxCallRecvMsgSize(16<<20))
		require.NoError(t, err, n)
		requireEcho(t, data, resp)
	}
}

func TestInferCompressed(t *testing.T) {
	t.Parallel()
	conn := start(t, newStub())
	c := inferencepb.NewGRPCInferenceServiceClient(conn)
	data := pattern(100 << 10)
	resp, err := c.ModelInfer(t.Context(), echoRequest(data), grpc.UseCompressor(gzip.Name))
	require.NoError(t, err)
	requireEcho(t, data, resp)

	plain := start(t, newStub(), grpc.WithCompressor(deflateWriter{})) //nolint:staticcheck // the only per-connection way
	resp, err = inferencepb.NewGRPCInferenceServiceClient(plain).ModelInfer(t.Context(), echoRequest(data))
	require.NoError(t, err)
	requireEcho(t, data, resp)
}

type deflateWriter struct{}

func (deflateWriter) Type() string { return "deflate" }

func (deflateWriter) Do(w io.Writer, p []byte) error {
	z := zlib.NewWriter(w)
	if _, err := z.Write(p); err != nil {
		return err
	}
	return z.Close()
}

func TestCancelReachesTheModel(t *testing.T) {
	t.Parallel()
	s := newStub()
	entered, left := make(chan struct{}), make(chan error, 1)
	s.block = func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		left <- context.Cause(ctx)
		return status.New(status.Cancelled, "")
	}
	logged := make(lines, 10)
	c := inferencepb.NewGRPCInferenceServiceClient(serve(t, s, s, func(o *grpcapi.Options) {
		o.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: log.Verbose(1)}))
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	_, err := c.ModelInfer(ctx, echoRequest(nil))
	require.Equal(t, codes.Canceled, grpcstatus.Code(err))
	require.ErrorIs(t, <-left, context.Canceled)
	require.Contains(t, <-logged, "GRPC request: ModelInfer")
	require.Contains(t, <-logged, "Cancellation notification received for ModelInferHandler")
}

func TestModelErrorKeepsCodeAndText(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.block = func(context.Context) error {
		return status.New(status.Unavailable, "[request id: 42] Exceeds maximum queue size")
	}
	_, err := inferencepb.NewGRPCInferenceServiceClient(start(t, s)).ModelInfer(t.Context(), echoRequest(nil))
	require.Equal(t, codes.Unavailable, grpcstatus.Code(err))
	require.Equal(t, "[request id: 42] Exceeds maximum queue size", grpcstatus.Convert(err).Message())
}

func TestResponseTooLarge(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.repeat = 3 << 10
	_, err := inferencepb.NewGRPCInferenceServiceClient(start(t, s)).ModelInfer(t.Context(), echoRequest(pattern(1<<20)))
	require.Equal(t, codes.InvalidArgument, grpcstatus.Code(err))
	require.Regexp(t, `^Response has byte size 32\d{8} which exceeds gRPC's byte size limit 2147483647\.$`, grpcstatus.Convert(err).Message())
}

// TestUnreadResponse: the client gives up on a response above its limit while the server is
// still writing; the memory is released nevertheless.
func TestUnreadResponse(t *testing.T) {
	t.Parallel()
	conn := start(t, newStub())
	_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), echoRequest(pattern(6<<20)))
	require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
	require.NoError(t, conn.Close())
}

func TestClassificationOfBytesIsRefused(t *testing.T) {
	t.Parallel() // NVIDIA's server ends at this one
	c := inferencepb.NewGRPCInferenceServiceClient(start(t, newStub()))
	r := echoRequest(nil)
	r.Inputs[0].Datatype = "BYTES"
	r.Outputs = []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "A", Parameters: map[string]*inferencepb.InferParameter{
		"classification": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: 1}},
	}}}
	_, err := c.ModelInfer(t.Context(), r)
	require.Equal(t, "class result not available for output due to unsupported type 'BYTES'", grpcstatus.Convert(err).Message())
}

func TestAdministration(t *testing.T) {
	t.Parallel()
	c := inferencepb.NewGRPCInferenceServiceClient(start(t, newStub()))
	server, err := c.ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{})
	require.NoError(t, err)
	require.Equal(t, "1.2.3", server.GetVersion())
	model, err := c.ModelMetadata(t.Context(), &inferencepb.ModelMetadataRequest{Name: "echo"})
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, model.GetVersions())
	config, err := c.ModelConfig(t.Context(), &inferencepb.ModelConfigRequest{Name: "two"})
	require.NoError(t, err)
	require.EqualValues(t, 8, config.GetConfig().GetMaxBatchSize())
	stats, err := c.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: "echo"})
	require.NoError(t, err)
	require.Equal(t, "echo", stats.GetModelStats()[0].GetName())
	index, err := c.RepositoryIndex(t.Context(), &inferencepb.RepositoryIndexRequest{})
	require.NoError(t, err)
	require.Equal(t, "READY", index.GetModels()[0].GetState())
}

// TestEveryMethodAnswers calls all unary methods: none may be unimplemented.
func TestEveryMethodAnswers(t *testing.T) {
	t.Parallel()
	conn := start(t, newStub())
	c := reflect.ValueOf(inferencepb.NewGRPCInferenceServiceClient(conn))
	for _, m := range inferencepb.GRPCInferenceService_ServiceDesc.Methods {
		f := c.MethodByName(m.MethodName)
		req := reflect.New(f.Type().In(1).Elem())
		err, _ := f.Call([]reflect.Value{reflect.ValueOf(t.Context()), req})[1].Interface().(error)
		if s := grpcstatus.Convert(err); s.Code() == codes.Unimplemented {
			require.NotContains(t, s.Message(), "method "+m.MethodName)
		}
	}
}

func TestExiting(t *testing.T) {
	t.Parallel()
	s := newStub()
	conn := start(t, s)
	s.exiting.Store(true)
	c := inferencepb.NewGRPCInferenceServiceClient(conn)
	_, live := c.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
	_, ready := c.ServerReady(t.Context(), &inferencepb.ServerReadyRequest{})
	_, check := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	for _, err := range []error{live, ready, check} {
		require.Equal(t, codes.Unavailable, grpcstatus.Code(err))
		require.Equal(t, "Server exiting", grpcstatus.Convert(err).Message())
	}
	_, err := c.RepositoryIndex(t.Context(), &inferencepb.RepositoryIndexRequest{})
	require.Equal(t, "Server not ready", grpcstatus.Convert(err).Message())
}

func TestHealthWatch(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.notReady.Store(true)
	watch, err := grpc_health_v1.NewHealthClient(start(t, s)).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_NOT_SERVING, grpc_health_v1.HealthCheckResponse_SERVING,
	} {
		got, err := watch.Recv()
		require.NoError(t, err)
		require.Equal(t, want, got.GetStatus())
		s.notReady.Store(false)
	}
	s.exiting.Store(true)
	_, err = watch.Recv()
	require.Equal(t, "Server exiting", grpcstatus.Convert(err).Message())
}

func TestReflection(t *testing.T) {
	t.Parallel()
	conn := start(t, newStub())
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "inference.GRPCInferenceService",
		},
	}))
	resp, err := stream.Recv()
	require.NoError(t, err)
	var file descriptorpb.FileDescriptorProto
	require.NoError(t, proto.Unmarshal(resp.GetFileDescriptorResponse().GetFileDescriptorProto()[0], &file))
	require.Equal(t, "GRPCInferenceService", file.GetService()[0].GetName())
	require.Len(t, file.GetService()[0].GetMethod(), 20)
	require.NoError(t, stream.CloseSend())

	old, err := reflectionv1alpha.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context()) //nolint:staticcheck // for old clients
	require.NoError(t, err)
	require.NoError(t, old.Send(&reflectionv1alpha.ServerReflectionRequest{ //nolint:staticcheck // for old clients
		MessageRequest: &reflectionv1alpha.ServerReflectionRequest_ListServices{}, //nolint:staticcheck // for old clients
	}))
	list, err := old.Recv()
	require.NoError(t, err)
	var names []string
	for _, s := range list.GetListServicesResponse().GetService() { //nolint:staticcheck // for old clients
		names = append(names, s.GetName()) //nolint:staticcheck // for old clients
	}
	require.Contains(t, names, "inference.GRPCInferenceService")
	require.Contains(t, names, "grpc.health.v1.Health")
	require.NoError(t, old.CloseSend())
}

func TestOptionsNameEveryProblem(t *testing.T) {
	t.Parallel()
	require.NoError(t, grpcapi.Default(tensor.NewPool()).Validate())
	o := grpcapi.Default(nil)
	o.KeepaliveTime, o.MaxConnectionAge = 0, -time.Second
	err := o.Validate()
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 3)
}

// TestPanic: a fault in one call is that call's alone.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.block = func(context.Context) error { panic("a fault") }
	client := inferencepb.NewGRPCInferenceServiceClient(start(t, s))
	for range 2 {
		_, err := client.ModelInfer(context.Background(), echoRequest(pattern(100)))
		require.Equal(t, codes.Internal, grpcstatus.Code(err))
	}
	live, err := client.ServerLive(context.Background(), &inferencepb.ServerLiveRequest{})
	require.NoError(t, err)
	require.True(t, live.GetLive())
}
