package grpcapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server/grpcapi"
	"triton/server/infer"
)

// taker is a core whose models take inputs in memory of a pool of theirs.
type taker struct {
	*stub
	pool *tensor.Pool
	// owned and frames count the inputs that arrived in one piece of that pool, and those that did not.
	owned, frames atomic.Int64
	asked         atomic.Int64 // how often a model was asked for memory
}

type takingModel struct {
	infer.Model
	core *taker
}

func newTaker() *taker { return &taker{stub: newStub(), pool: tensor.NewPool()} }

func (c *taker) Model(name, version string) (infer.Model, error) {
	m, err := c.stub.Model(name, version)
	if err != nil {
		return nil, err
	}
	return &takingModel{m, c}, nil
}

func (m *takingModel) InputPool() *tensor.Pool {
	m.core.asked.Add(1)
	return m.core.pool
}

func (m *takingModel) see(r *infer.Request) {
	d := &r.Inputs[0].Data
	b := d.Segment(0).Buffer
	if r.OwnInputs && d.Segments() == 1 && b.Sole() && m.core.pool.Holds(b) > 0 {
		m.core.owned.Add(1)
	} else if !r.OwnInputs && m.core.pool.Holds(b) == 0 {
		m.core.frames.Add(1)
	}
}

func (m *takingModel) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	m.see(r)
	return m.Model.Infer(ctx, r)
}

func (m *takingModel) Submit(r *infer.Request) error {
	m.see(r)
	return m.Model.Submit(r)
}

// bytesRequest has inputs of that many bytes, with different values.
func bytesRequest(model string, sizes ...int) *inferencepb.ModelInferRequest {
	r := &inferencepb.ModelInferRequest{ModelName: model, Id: "x"}
	for i, n := range sizes {
		name := []string{"X", "X1"}[i]
		r.Inputs = append(r.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: "UINT8", Shape: []int64{int64(n)}})
		r.RawInputContents = append(r.RawInputContents, pattern(n))
	}
	return r
}

func wireOf(t *testing.T, r *inferencepb.ModelInferRequest) []byte {
	t.Helper()
	b, err := proto.Marshal(r)
	require.NoError(t, err)
	return b
}

func requireEmpty(t *testing.T, p *tensor.Pool) {
	t.Helper()
	require.Eventually(t, func() bool { return p.Outstanding() == 0 }, time.Minute, time.Millisecond, "memory is not given back")
}

// Large contents of a single input arrive in the memory of the model; everything else stays in frames.
// The answers are the same.
func TestLargeContentsArriveInTheMemoryOfTheModel(t *testing.T) {
	t.Parallel()
	const large = 3<<20 + 17
	for name, c := range map[string]struct {
		request       *inferencepb.ModelInferRequest
		options       []grpc.CallOption
		scarce        bool
		owned, frames int64
	}{
		"one MiB":    {request: bytesRequest("echo", 1<<20), owned: 1},
		"large":      {request: bytesRequest("echo", large), owned: 1},
		"very large": {request: bytesRequest("echo", 20<<20), owned: 1},
		"small":      {request: bytesRequest("echo", 256<<10), frames: 1},
		"two inputs": {request: bytesRequest("t_two", large, large), frames: 1},
		"compressed": {request: bytesRequest("echo", large), options: []grpc.CallOption{grpc.UseCompressor(gzip.Name)}, frames: 1},
		"no memory":  {request: bytesRequest("echo", large), scarce: true, frames: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := newTaker()
			if c.scarce {
				scarce := tensortest.New(nil)
				scarce.Refuse(tensortest.Above(1 << 20))
				core.pool = scarce.Pool
			}
			conn := serve(t, core, core.stub, nil, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
			resp, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), c.request, c.options...)
			require.NoError(t, err)
			require.Len(t, resp.RawOutputContents, len(c.request.RawInputContents))
			for i, want := range c.request.RawInputContents {
				require.True(t, bytes.Equal(want, resp.RawOutputContents[i]))
			}
			require.Equal(t, c.owned, core.owned.Load(), "in the memory of the model")
			require.Equal(t, c.frames, core.frames.Load(), "in frames")
			copied, _ := core.stub.pool.Copied()
			require.Equal(t, c.owned*int64(len(c.request.RawInputContents[0])), copied)
			requireEmpty(t, core.pool)
		})
	}
}

// Requests of a stream arrive in the same way, one after another and in any size.
func TestLargeContentsOfStreams(t *testing.T) {
	t.Parallel()
	core := newTaker()
	conn := serve(t, core, core.stub, nil, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	stream, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(t.Context())
	require.NoError(t, err)
	sizes := []int{3 << 20, 100, 5<<20 + 1, 256 << 10, 3 << 20}
	go func() {
		for _, n := range sizes {
			_ = stream.Send(bytesRequest("echo", n))
		}
		_ = stream.CloseSend()
	}()
	for _, n := range sizes {
		resp, err := stream.Recv()
		require.NoError(t, err)
		require.Empty(t, resp.ErrorMessage)
		require.True(t, bytes.Equal(pattern(n), resp.InferResponse.RawOutputContents[0]))
	}
	require.EqualValues(t, 3, core.owned.Load())
	require.EqualValues(t, 2, core.frames.Load())
	requireEmpty(t, core.pool)
}

// A message that does not arrive in full, or that is refused, leaves no memory behind.
func TestLargeContentsThatFail(t *testing.T) {
	t.Parallel()
	message := wireOf(t, bytesRequest("echo", 8<<20))
	broken := append(wireOf(t, bytesRequest("echo", 3<<20)), 0xff)
	for name, c := range map[string]struct {
		limit   int64
		message []byte
		send    int // bytes of it
		reset   bool
		want    codes.Code
	}{
		"cancelled":        {message: message, send: 2 << 20, reset: true},
		"ends too early":   {message: message, send: 2 << 20, want: codes.Internal},
		"over the budget":  {message: message, send: 4 << 20, limit: 4 << 20, want: codes.ResourceExhausted},
		"broken behind it": {message: broken, send: len(broken), want: codes.Internal},
		"unknown model":    {message: wireOf(t, bytesRequest("unknown", 3<<20)), send: 3 << 20, want: codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := newTaker()
			client := newSlowClient(t, serveCoreTCP(t, core, core.stub.pool, func(o *grpcapi.Options) {
				o.MaxReceiveConn, o.StreamWindow, o.ConnWindow = c.limit, 16<<20, 16<<20
			}))
			client.open(1, rpc.ModelInfer)
			data := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(c.message))), c.message...)[:c.send]
			for len(data) > 0 {
				n := min(len(data), 16<<10)
				require.NoError(t, client.framer.WriteData(1, len(data) == n && !c.reset, data[:n]))
				data = data[n:]
			}
			if c.reset {
				require.Eventually(t, func() bool { return core.pool.Outstanding() == 1 }, time.Minute, time.Millisecond)
				require.NoError(t, client.framer.WriteRSTStream(1, 8))
			} else {
				require.Equal(t, c.want, client.await(1)[1].code)
			}
			requireEmpty(t, core.pool)
		})
	}
}

// An unknown model is reported as usual when the whole message is there.
func TestLargeContentsForAnUnknownModel(t *testing.T) {
	t.Parallel()
	core := newTaker()
	conn := serve(t, core, core.stub, nil)
	_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), bytesRequest("unknown", 3<<20))
	require.Equal(t, codes.NotFound, grpcstatus.Code(err))
	requireEmpty(t, core.pool)
}
