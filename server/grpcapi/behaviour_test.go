package grpcapi_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/pkg/log"
	"triton/server/grpcapi"
	"triton/server/infer"
	"triton/server/memory"
)

type streamClient = grpc.BidiStreamingClient[inferencepb.ModelInferRequest, inferencepb.ModelStreamInferResponse]

func openStream(t testing.TB, ctx context.Context, conn *grpc.ClientConn) streamClient {
	t.Helper()
	stream, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(ctx, grpc.MaxCallRecvMsgSize(1<<30))
	require.NoError(t, err)
	return stream
}

// submitted waits until n requests are with their models.
func (s *scripted) submitted(t *testing.T, n int) []*infer.Request {
	t.Helper()
	var all []*infer.Request
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all = slices.Clone(s.received)
		return len(all) >= n
	}, time.Minute, time.Millisecond)
	return all
}

// TestAbandonedStream: however a client disconnects, all its requests in flight are cancelled,
// and later responses of models are dropped.
func TestAbandonedStream(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(context.CancelFunc, *grpc.ClientConn){
		"cancelled":    func(cancel context.CancelFunc, _ *grpc.ClientConn) { cancel() },
		"disconnected": func(_ context.CancelFunc, conn *grpc.ClientConn) { conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted()
			logged := make(lines, 10)
			conn := serve(t, s, s.stub, func(o *grpcapi.Options) {
				o.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: log.Verbose(1)}))
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream := openStream(t, ctx, conn)
			for _, line := range []string{"one a | d1 R", "dec b | r R", "dec c | d1 f", "one d | e f", "one e | R"} {
				require.NoError(t, stream.Send(scriptRequest(line)))
			}
			all := s.submitted(t, 5)
			leave(cancel, conn)
			for _, r := range all {
				require.Eventually(t, r.Cancelled, time.Minute, time.Millisecond)
			}
			require.Contains(t, <-logged, "GRPC request: ModelStreamInfer")
			require.Contains(t, <-logged, "Cancellation notification received for ModelStreamInferHandler")
			s.finish()
		})
	}
}

// TestReceivedIsWhenTheRequestCame: the time that a stream is silent is no time of
// the next request.
func TestReceivedIsWhenTheRequestCame(t *testing.T) {
	t.Parallel()
	s := newScripted()
	ctx, cancel := context.WithCancel(t.Context())
	stream := openStream(t, ctx, serve(t, s, s.stub, nil))
	for n := range 10 {
		before := infer.Now()
		require.NoError(t, stream.Send(scriptRequest("one a | R")))
		require.GreaterOrEqual(t, s.submitted(t, n+1)[n].Times.Received, before)
	}
	cancel()
	s.finish()
}

// lines receives the lines of a log, one at a time.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// finish runs the planned steps without a request that waits for their end.
func (s *scripted) finish() {
	barrier := infer.NewRequest()
	barrier.Unary()
	s.play(barrier)
	barrier.Release()
}

// dueContext is a context whose deadline passes when the test closes due.
type dueContext struct {
	context.Context
	due chan struct{}
}

func (c dueContext) Done() <-chan struct{} { return c.due }

func (c dueContext) Err() error {
	select {
	case <-c.due:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestDeadlineOfAStream: the requests of a stream are cancelled when the client's
// deadline passes.
func TestDeadlineOfAStream(t *testing.T) {
	t.Parallel()
	s := newScripted()
	conn := serve(t, s, s.stub, nil)
	ctx := dueContext{t.Context(), make(chan struct{})}
	stream := openStream(t, ctx, conn)
	require.NoError(t, stream.Send(scriptRequest("dec a | R")))
	all := s.submitted(t, 1)
	close(ctx.due)
	_, err := stream.Recv()
	require.Equal(t, codes.DeadlineExceeded, grpcstatus.Code(err))
	for _, r := range all {
		require.Eventually(t, r.Cancelled, time.Minute, time.Millisecond)
	}
	s.finish()
}

// TestStrictStreamCancelsTheRest: the first error ends the stream and with it
// the requests that run.
func TestStrictStreamCancelsTheRest(t *testing.T) {
	t.Parallel()
	s := newScripted()
	conn := serve(t, s, s.stub, nil)
	stream := openStream(t, withMetadata(t.Context(), "triton_grpc_error", "true"), conn)
	require.NoError(t, stream.Send(scriptRequest("dec a | R")))
	all := s.submitted(t, 1)
	require.NoError(t, stream.Send(scriptRequest("dec b | e f")))
	s.submitted(t, 2)
	s.mu.Lock()
	first, rest := s.steps[1:2], append(s.steps[:1:1], s.steps[2:]...)
	s.steps = rest
	s.mu.Unlock()
	first[0].do()
	_, err := stream.Recv()
	require.Equal(t, "failed 0", grpcstatus.Convert(err).Message())
	require.Eventually(t, all[0].Cancelled, time.Minute, time.Millisecond)
	s.finish()
}

// TestSlowReader: a client that does not read keeps no model waiting, and gets
// all in the end.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.size = 16 << 10
	conn := serve(t, s, s.stub, nil)
	stream := openStream(t, t.Context(), conn)
	const n = 60 // a script is at most 255 bytes long
	for range 8 {
		require.NoError(t, stream.Send(scriptRequest("dec a | "+strings.Repeat("r ", n)+"f")))
	}
	s.submitted(t, 8)
	played := make(chan struct{})
	go func() { s.finish(); close(played) }()
	select {
	case <-played:
	case <-time.After(time.Minute):
		t.Fatal("the model waits for the client")
	}
	require.NoError(t, stream.CloseSend())
	require.Equal(t, 8*n+1, strings.Count(transcript(stream), "\n"))
}

// TestClientThatNeverReads: a decoupled model that answers on and on is cancelled,
// and no more of it is kept.
func TestClientThatNeverReads(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.size = 1 << 20
	conn := serve(t, s, s.stub, func(o *grpcapi.Options) { o.MaxUnread = 8 << 20 })
	stream := openStream(t, t.Context(), conn)
	require.NoError(t, stream.Send(scriptRequest("dec a | "+strings.Repeat("r ", 60)+"f")))
	r := s.submitted(t, 1)[0]
	require.False(t, r.Cancelled())
	s.mu.Lock()
	steps := s.steps
	s.steps = nil
	s.mu.Unlock()
	for _, p := range steps[:60] {
		p.do()
	}
	require.True(t, r.Cancelled())
	require.Less(t, s.pool.Outstanding(), int64(60))
	steps[60].do()
	require.NoError(t, stream.CloseSend())
	lines := strings.Split(strings.TrimSpace(transcript(stream)), "\n")
	require.Less(t, len(lines), 30)
	require.Contains(t, lines[len(lines)-2], `{"error_message":"the request was cancelled because the client reads the stream too slowly: more than 8388608 bytes of responses wait for it"`)
	require.Equal(t, "OK", lines[len(lines)-1])
}

// TestStreamThatHoldsMost: when the memory for requests is short, the stream that holds most ends, and
// frees what waits for its client.
func TestStreamThatHoldsMost(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.size = 1 << 20
	budget := memory.New(16 << 20)
	conn := serve(t, s, s.stub, func(o *grpcapi.Options) { o.Memory = budget })
	stream := openStream(t, t.Context(), conn)
	require.NoError(t, stream.Send(scriptRequest("dec a | "+strings.Repeat("r ", 60)+"f")))
	r := s.submitted(t, 1)[0]
	s.mu.Lock()
	steps := s.steps
	s.steps = nil
	s.mu.Unlock()
	for _, p := range steps[:40] {
		p.do()
	}
	require.EqualValues(t, 1, budget.Cancelled())
	require.Eventually(t, func() bool { return s.pool.Outstanding() < 40 }, time.Minute, time.Millisecond, "what waits is freed")
	for _, p := range steps[40:60] {
		p.do()
	}
	require.True(t, r.Cancelled())
	steps[60].do()
	lines := strings.Split(strings.TrimSpace(transcript(stream)), "\n")
	require.Contains(t, lines[len(lines)-1], "ResourceExhausted")
	require.Contains(t, lines[len(lines)-1], "its client reads too slowly and the memory for requests")
	require.Eventually(t, func() bool { return budget.Total() == 0 }, time.Minute, time.Millisecond)
}

// TestManySmallUnread: responses with hardly any data count with their own size.
func TestManySmallUnread(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.size = 256 << 10
	conn := serve(t, s, s.stub, func(o *grpcapi.Options) { o.MaxUnread = 1 << 20 }, // windows that stay small
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	stream := openStream(t, t.Context(), conn)
	require.NoError(t, stream.Send(scriptRequest("dec large | r r R"))) // so that the others wait
	s.submitted(t, 1)
	s.finish()
	s.mu.Lock()
	s.size = 0
	s.mu.Unlock()
	const n, each = 15, 110
	for range n {
		require.NoError(t, stream.Send(scriptRequest("dec small | "+strings.Repeat("r ", each)+"f")))
	}
	all := s.submitted(t, n)
	s.mu.Lock()
	steps := s.steps
	s.steps = nil
	s.mu.Unlock()
	cancelled := false
	for i, p := range steps {
		if i%(each+1) == each { // the request ends
			cancelled = cancelled || all[i/(each+1)].Cancelled()
		}
		p.do()
	}
	require.True(t, cancelled)
	require.NoError(t, stream.CloseSend())
	require.Contains(t, transcript(stream), "the client reads the stream too slowly")
}

// TestReadAhead: no further request is read while the requests of the stream hold their limit.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	s := newScripted()
	conn := serve(t, s, s.stub, func(o *grpcapi.Options) { o.ReadAhead = 10 })
	stream := openStream(t, t.Context(), conn)
	for range 4 { // 5 bytes of input each: the fourth would be beyond
		require.NoError(t, stream.Send(scriptRequest("dec a | R")))
	}
	require.Len(t, s.submitted(t, 3), 3)
	require.Never(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.received) > 3
	}, 50*time.Millisecond, 5*time.Millisecond)
	s.finish()
	s.submitted(t, 1) // the fourth, as the others are over
	s.finish()
	require.NoError(t, stream.CloseSend())
	require.Equal(t, 5, strings.Count(transcript(stream), "\n"))
}

// TestExitingStream: requests that arrive while the server ends get an error; the stream stays
// open.
func TestExitingStream(t *testing.T) {
	t.Parallel()
	s := newScripted()
	conn := serve(t, s, s.stub, nil)
	stream := openStream(t, t.Context(), conn)
	require.NoError(t, stream.Send(scriptRequest("dec a | R")))
	s.submitted(t, 1)
	s.exiting.Store(true)
	require.NoError(t, stream.Send(scriptRequest("dec late | R")))
	m, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, "GRPC server is shutting down and has stopped accepting new requests.", m.GetErrorMessage())
	require.Equal(t, "late", m.GetInferResponse().GetId())
	s.finish()
	m, err = stream.Recv()
	require.NoError(t, err)
	require.Equal(t, "a", m.GetInferResponse().GetId())
	_, err = inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), scriptRequest("one a | R"))
	require.NoError(t, err, "a call ends by itself, so it may come late")
	require.NoError(t, stream.CloseSend())
}

// TestManyStreams mixes requests of many streams; each stream has its answers,
// in order.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	c := start(t, newStub())
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			stream := openStream(t, t.Context(), c)
			go func() {
				for i := range 100 {
					r := echoRequest(pattern(i * 100))
					r.Id = string(rune('A' + i%26))
					_ = stream.Send(r)
				}
				_ = stream.CloseSend()
			}()
			for i := range 100 {
				m, err := stream.Recv()
				if err != nil || m.GetInferResponse().GetId() != string(rune('A'+i%26)) ||
					len(m.GetInferResponse().GetRawOutputContents()[0]) != i*100 {
					t.Error(i, err, m.GetInferResponse().GetId())
					return
				}
			}
		})
	}
	all.Wait()
}

// TestBrokenMessage: requests before an invalid message are answered.
func TestBrokenMessage(t *testing.T) {
	t.Parallel()
	conn := start(t, newStub())
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		rpc.ModelStreamInfer, grpc.ForceCodecV2(bytesCodec{}))
	require.NoError(t, err)
	good, err := proto.Marshal(echoRequest(pattern(10)))
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(good))
	require.NoError(t, stream.SendMsg([]byte("\x0a\x05x")))
	var got []byte
	require.NoError(t, stream.RecvMsg(&got))
	var m inferencepb.ModelStreamInferResponse
	require.NoError(t, proto.Unmarshal(got, &m))
	requireEcho(t, pattern(10), m.GetInferResponse())
	err = stream.RecvMsg(&got)
	require.Equal(t, codes.Internal, grpcstatus.Code(err))
	require.Equal(t, "Unable to parse request", grpcstatus.Convert(err).Message())
}
