package grpcapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/access"
	"triton/server/access/accesstest"
	"triton/server/access/policy"
	"triton/server/grpcapi"
)

// wanted are the rights that the calls need, written down apart from the code. TestRights fails
// for a call that is missing here.
var wanted = map[string]policy.Action{
	"ServerLive": policy.ActionHealth, "ServerReady": policy.ActionHealth, "Check": policy.ActionHealth, "Watch": policy.ActionHealth, "List": policy.ActionHealth,
	"ModelReady": policy.ActionReady, "ServerMetadata": policy.ActionMetadata, "ModelMetadata": policy.ActionMetadata, "ServerReflectionInfo": policy.ActionMetadata,
	"ModelInfer": policy.ActionInfer, "ModelStreamInfer": policy.ActionInfer, "ModelConfig": policy.ActionConfig, "ModelStatistics": policy.ActionStatistics,
	"RepositoryIndex": policy.ActionIndex, "RepositoryModelLoad": policy.ActionLoad, "RepositoryModelUnload": policy.ActionLoad,
	"SystemSharedMemoryStatus": policy.ActionSharedMemory, "SystemSharedMemoryRegister": policy.ActionSharedMemory, "SystemSharedMemoryUnregister": policy.ActionSharedMemory,
	"CudaSharedMemoryStatus": policy.ActionSharedMemory, "CudaSharedMemoryRegister": policy.ActionSharedMemory, "CudaSharedMemoryUnregister": policy.ActionSharedMemory,
	"TraceSetting": policy.ActionSettings, "LogSettings": policy.ActionSettings,
}

// method is a call of a server.
type method struct {
	name   string // full
	action policy.Action
	stream bool
	input  protoreflect.MessageType
	model  protoreflect.FieldDescriptor // of the message; nil: none
}

// methodsOf returns all calls of the server that o configures.
func methodsOf(t *testing.T, o grpcapi.Options) (all []method) {
	t.Helper()
	server := newServer(t, newStub(), o)
	defer server.Stop()
	for service, info := range server.GetServiceInfo() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		require.NoError(t, err)
		described := d.(protoreflect.ServiceDescriptor).Methods()
		require.Equal(t, described.Len(), len(info.Methods), service)
		for i := range described.Len() {
			m := described.Get(i)
			action, known := wanted[string(m.Name())]
			require.True(t, known, "%s.%s is not in the table: decide who may call it", service, m.Name())
			input, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
			require.NoError(t, err)
			call := method{"/" + service + "/" + string(m.Name()), action, m.IsStreamingClient() || m.IsStreamingServer(), input, nil}
			if action.OfModel() {
				if call.model = m.Input().Fields().ByName("model_name"); call.model == nil {
					call.model = m.Input().Fields().ByName("name")
				}
			}
			all = append(all, call)
		}
	}
	require.GreaterOrEqual(t, len(all), len(wanted))
	return all
}

// code makes a call about a model and returns the code of its status; a stream reports errors of
// single requests in messages.
func (m *method) code(ctx context.Context, cc *grpc.ClientConn, model string) (codes.Code, string) {
	in := m.input.New()
	if m.model != nil {
		in.Set(m.model, protoreflect.ValueOfString(model))
	}
	if !m.stream {
		var out proto.Message = &grpc_health_v1.HealthCheckResponse{} // its fields do not matter
		err := cc.Invoke(ctx, m.name, in.Interface(), out)
		return grpcstatus.Code(err), grpcstatus.Convert(err).Message()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, m.name)
	if err == nil {
		_ = s.SendMsg(in.Interface())
		_ = s.CloseSend()
		answer := &inferencepb.ModelStreamInferResponse{}
		if err = s.RecvMsg(answer); errors.Is(err, io.EOF) {
			err = nil
		}
		if text := answer.GetErrorMessage(); strings.HasSuffix(text, "not permitted") {
			return codes.PermissionDenied, text
		}
	}
	return grpcstatus.Code(err), grpcstatus.Convert(err).Message()
}

// TestRights makes every call as every kind of caller: without a key, with a key for nothing,
// with each right alone, and with all, for a model that it may use, another, and one that does
// not exist.
func TestRights(t *testing.T) {
	t.Parallel()
	guard, keys := accesstest.EachRight(t, "echo")
	s := newStub()
	cc := serve(t, s, s, func(o *grpcapi.Options) { o.Guard = guard })
	for _, m := range methodsOf(t, grpcapi.Default(tensor.NewPool())) {
		models := []string{"echo"}
		if m.model != nil {
			models = append(models, "two", "missing")
		}
		open := m.action == policy.ActionHealth
		for _, model := range models {
			if !open {
				code, text := m.code(t.Context(), cc, model)
				require.Equal(t, codes.Unauthenticated, code, "%s %s", m.name, model)
				require.NotContains(t, text, model)
				code, _ = m.code(withMetadata(t.Context(), "x-api-key", "wrong"), cc, model)
				require.Equal(t, codes.Unauthenticated, code, "%s %s", m.name, model)
			}
			for owner, key := range keys {
				want := open || owner == "all" || owner == m.action.String() && (!m.action.OfModel() || model == "echo")
				code, text := m.code(withMetadata(t.Context(), "authorization", "Bearer "+key), cc, model)
				require.NotEqual(t, codes.Unauthenticated, code, text)
				require.Equal(t, want, code != codes.PermissionDenied, "%s %s as %s: %s %s", m.name, model, owner, code, text)
				if !want {
					require.Equal(t, "this call is not permitted", text)
				}
			}
		}
	}
	health := grpc_health_v1.NewHealthClient(cc)
	_, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "models/echo"})
	require.Equal(t, codes.Unauthenticated, grpcstatus.Code(err), "the readiness of a model says that it exists")
	_, err = health.Check(withMetadata(t.Context(), "x-api-key", keys["ready"]), &grpc_health_v1.HealthCheckRequest{Service: "models/echo"})
	require.NoError(t, err)
	_, err = health.Check(withMetadata(t.Context(), "x-api-key", keys["ready"]), &grpc_health_v1.HealthCheckRequest{Service: "models/two"})
	require.Equal(t, codes.PermissionDenied, grpcstatus.Code(err))
	watch, err := health.Watch(withMetadata(t.Context(), "x-api-key", keys["infer"]), &grpc_health_v1.HealthCheckRequest{Service: "models/echo"})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.Equal(t, codes.PermissionDenied, grpcstatus.Code(err))
}

// TestMemoryOfOtherModels: a message takes no memory of a model that its caller may not use, not even
// while it arrives.
func TestMemoryOfOtherModels(t *testing.T) {
	t.Parallel()
	guard, keys := accesstest.EachRight(t, "echo")
	core := newTaker()
	cc := serve(t, core, core.stub, func(o *grpcapi.Options) { o.Guard = guard })
	ctx := withMetadata(t.Context(), "x-api-key", keys["infer"])
	client := inferencepb.NewGRPCInferenceServiceClient(cc)
	_, err := client.ModelInfer(ctx, bytesRequest("t_two", 3<<20))
	require.Equal(t, codes.PermissionDenied, grpcstatus.Code(err), "%v", err)
	require.Zero(t, core.asked.Load())
	_, err = client.ModelInfer(ctx, bytesRequest("echo", 3<<20))
	require.NoError(t, err)
	require.EqualValues(t, 1, core.asked.Load())
}

// TestRevokedWatch: a caller that loses the right to a model learns no more about it.
func TestRevokedWatch(t *testing.T) {
	t.Parallel()
	file, keys := accesstest.WriteKeys(t, "a")
	guard, err := access.New(access.Options{Keys: file}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		guard.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	s := newStub()
	cc := serve(t, s, s, func(o *grpcapi.Options) { o.Guard = guard })
	watch, err := grpc_health_v1.NewHealthClient(cc).Watch(withMetadata(t.Context(), "x-api-key", keys["a"]), &grpc_health_v1.HealthCheckRequest{Service: "models/echo"})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("# revoked\n"), 0o600))
	_, err = watch.Recv()
	require.Equal(t, codes.Unauthenticated, grpcstatus.Code(err), "%v", err)
}

// TestControlElsewhere refuses the calls for operation where another port serves them.
func TestControlElsewhere(t *testing.T) {
	t.Parallel()
	s := newStub()
	cc := serve(t, s, s, func(o *grpcapi.Options) { o.RefuseControl = true })
	for _, m := range methodsOf(t, grpcapi.Default(tensor.NewPool())) {
		code, _ := m.code(t.Context(), cc, "echo")
		require.Equal(t, m.action.Control(), code == codes.PermissionDenied, m.name)
	}
}
