package grpcapi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server/grpcapi"
	"triton/server/infer"
)

// fragile is a core whose model "broken" panics whenever it is to take a request.
type fragile struct{ *stub }

func (s fragile) Model(name, version string) (infer.Model, error) {
	if name != "broken" {
		return s.stub.Model(name, version)
	}
	s.held.Add(1)
	return &transportError{(*echo)(s.stub)}, nil
}

type transportError struct{ *echo }

func (*transportError) Infer(_ context.Context, r *infer.Request) (*infer.Response, error) {
	defer r.Release()
	panic("at once")
}

func (*transportError) Submit(r *infer.Request) error {
	defer r.Release()
	panic("at once")
}

func brokenRequest() *inferencepb.ModelInferRequest {
	r := echoRequest(pattern(5000))
	r.ModelName, r.Id = "broken", "b"
	return r
}

// TestPanicOfTheCore: a panic fails only its own request, whose memory is released.
func TestPanicOfTheCore(t *testing.T) {
	t.Parallel()
	const fault = "internal error while the call was served; the server's log has the details"
	s := newStub()
	conn := serve(t, fragile{s}, s, nil)
	_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), brokenRequest())
	require.Equal(t, codes.Internal, grpcstatus.Code(err))
	require.Equal(t, fault, grpcstatus.Convert(err).Message())

	stream := openStream(t, t.Context(), conn)
	require.NoError(t, stream.Send(brokenRequest()))
	m, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, fault, m.GetErrorMessage())
	require.Equal(t, "b", m.GetInferResponse().GetId())
	require.NoError(t, stream.Send(echoRequest(pattern(10))))
	m, err = stream.Recv()
	require.NoError(t, err)
	requireEcho(t, pattern(10), m.GetInferResponse())
	require.NoError(t, stream.CloseSend())
}

// careless is a core that panics before it has returned the model "lost", and whose model "torn"
// panics in Config.
type careless struct{ *stub }

func (s careless) Model(name, version string) (infer.Model, error) {
	switch name {
	case "lost":
		panic("no model")
	case "torn":
		s.held.Add(1)
		return torn{(*echo)(s.stub)}, nil
	}
	return s.stub.Model(name, version)
}

type torn struct{ *echo }

func (torn) Config() *inferencepb.ModelConfig { panic("no configuration") }

// TestPanicBeforeTheModel: a panic before the model has the request ends the call and releases its
// memory, its model and its charge.
func TestPanicBeforeTheModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lost", "torn"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub()
			conn := serve(t, careless{s}, s, func(o *grpcapi.Options) { o.MaxReceiveConn = 1 << 20 })
			r := echoRequest(pattern(700 << 10))
			for range 3 {
				r.ModelName = name
				stream := openStream(t, t.Context(), conn)
				require.NoError(t, stream.Send(r))
				_, err := stream.Recv()
				require.Equal(t, codes.Internal, grpcstatus.Code(err), "%v", err)
				_, err = inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), r)
				require.Equal(t, codes.Internal, grpcstatus.Code(err), "%v", err)
			}
			r.ModelName = "echo"
			_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), r)
			require.NoError(t, err)
		})
	}
}
