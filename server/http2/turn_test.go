package http2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"triton/pkg/h2frame"
	"triton/pkg/nonblock"
)

// caller is a client that sees which calls are answered, and what each read brought.
type caller struct {
	conn  net.Conn
	lasts chan []uint32 // the calls that one read of the client ended
}

// call returns the frames of a whole call of /s/m.
func call(id uint32, message string) []byte {
	body := append([]byte{0, 0, 0, 0, byte(len(message) + 2), 0x0a, byte(len(message))}, message...)
	return append(h2frame.AppendHead(headersOf(id, "/s/m"), len(body), http2.FrameData, http2.FlagDataEndStream, id), body...)
}

func (c *caller) send(t *testing.T, frames ...[]byte) {
	t.Helper()
	_, err := c.conn.Write(bytes.Join(frames, nil))
	require.NoError(t, err)
}

// answered returns the calls that have ended since the last time, one list for each read.
func (c *caller) answered() (all [][]uint32) {
	synctest.Wait()
	for {
		select {
		case ids := <-c.lasts:
			all = append(all, ids)
		default:
			return all
		}
	}
}

// read notes which calls end. What the server writes at once is one read, because the buffer is large.
func (c *caller) read() {
	defer close(c.lasts)
	var rest []byte
	for b := make([]byte, 1<<20); ; {
		n, err := c.conn.Read(b)
		if err != nil {
			return
		}
		rest = append(rest, b[:n]...)
		var ids []uint32
		for {
			h, ok := h2frame.ReadHead(rest)
			if !ok || len(rest) < h2frame.HeadLen+h.Len {
				break
			}
			rest = rest[h2frame.HeadLen+h.Len:]
			if h.Kind == http2.FrameHeaders && h.Has(http2.FlagHeadersEndStream) {
				ids = append(ids, h.ID)
			}
		}
		if ids != nil {
			c.lasts <- ids
		}
	}
}

// withCaller serves the unary method /s/m over a pipe, in the time of a bubble.
func withCaller(t *testing.T, handle func(ctx context.Context, message string) error, test func(t *testing.T, s *Server, c *caller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lis := make(pipes, 1)
		srv := NewServer(Options{})
		srv.RegisterService(&grpc.ServiceDesc{ServiceName: "s", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
			MethodName: "m",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var m wrapperspb.StringValue
				if err := decode(&m); err != nil {
					return nil, err
				}
				return &m, handle(ctx, m.GetValue())
			},
		}}}, nil)
		served := make(chan struct{})
		go func() { defer close(served); _ = srv.Serve(lis) }()
		client, server := net.Pipe()
		lis <- server
		c := &caller{client, make(chan []uint32, 10_000)}
		go c.read()
		c.send(t, []byte(http2.ClientPreface), h2frame.AppendHead(nil, 0, http2.FrameSettings, 0, 0))
		require.Empty(t, c.answered())
		test(t, srv, c)
		srv.Stop()
		_ = client.Close()
		<-served
		for range c.lasts { //nolint:revive // until read has ended
		}
		srv.handlers.Wait()
	})
}

// TestCallsOfOneRead: they run in their order, and their responses leave in one write.
func TestCallsOfOneRead(t *testing.T) {
	t.Parallel()
	var order []string // of one goroutine, or the race detector says so
	withCaller(t, func(_ context.Context, m string) error { order = append(order, m); return nil }, func(t *testing.T, _ *Server, c *caller) {
		c.send(t, call(1, "a"), call(3, "b"), call(5, "c"))
		require.Equal(t, [][]uint32{{1, 3, 5}}, c.answered())
		require.Equal(t, []string{"a", "b", "c"}, order)
	})
}

// TestCallThatWaits: others of the same read, and later ones, are answered meanwhile, at once if the call says that
// it waits, and after turnTime if it does not.
func TestCallThatWaits(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]bool{"says so": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var release chan struct{} // of the bubble
			withCaller(t, func(ctx context.Context, m string) error {
				if m != "wait" {
					return nil
				}
				if says {
					nonblock.WillWait(ctx)
				}
				<-release
				return nil
			}, func(t *testing.T, _ *Server, c *caller) {
				release = make(chan struct{}, 1)
				began := time.Now()
				c.send(t, call(1, "a"), call(3, "wait"), call(5, "c"))
				if !says {
					require.Empty(t, c.answered(), "the turn goes on")
					time.Sleep(turnTime)
				}
				require.ElementsMatch(t, []uint32{1, 5}, flat(c.answered()))
				c.send(t, call(7, "d"))
				require.Equal(t, []uint32{7}, flat(c.answered()))
				release <- struct{}{}
				require.Equal(t, []uint32{3}, flat(c.answered()))
				c.send(t, call(9, "e"))
				require.Equal(t, []uint32{9}, flat(c.answered()), "one goroutine reads")
				require.LessOrEqual(t, time.Since(began), 2*turnTime)
			})
		})
	}
}

func flat(lists [][]uint32) (all []uint32) {
	for _, ids := range lists {
		all = append(all, ids...)
	}
	return all
}

// TestCallsOverBudget: when the calls of a turn take long together, the rest goes to the workers at once.
func TestCallsOverBudget(t *testing.T) {
	t.Parallel()
	withCaller(t, func(_ context.Context, m string) error {
		time.Sleep(turnBudget + 1) // in the time of the bubble
		return nil
	}, func(t *testing.T, _ *Server, c *caller) {
		c.send(t, call(1, "a"), call(3, "b"), call(5, "c"), call(7, "d"))
		began := time.Now()
		time.Sleep(2*turnBudget + 2) // the first, then the others together
		require.ElementsMatch(t, []uint32{1, 3, 5, 7}, flat(c.answered()))
		require.Equal(t, 2*turnBudget+2, time.Since(began))
	})
}

// TestLongCallsGoToWorkers: after long calls the next ones do not stop the reading, until they were short for a while.
func TestLongCallsGoToWorkers(t *testing.T) {
	t.Parallel()
	var tn turn
	for range averageOver {
		tn.took(int64(time.Microsecond))
	}
	require.Zero(t, tn.left)
	tn.took(int64(turnTime))
	require.Zero(t, tn.left, "once may be an accident")
	tn.took(int64(turnTime))
	require.Equal(t, leastPenalty, tn.left)
	for range 20 {
		tn.left = 0
		for tn.left == 0 {
			tn.took(int64(turnTime))
		}
	}
	require.Equal(t, maxPenalty, tn.left)
	for range goodTurns {
		tn.took(int64(time.Microsecond))
	}
	for tn.left = 0; tn.left == 0; {
		tn.took(int64(turnTime))
	}
	require.Equal(t, leastPenalty, tn.left, "good turns make up for it")
}

// TestHandlerPanics: the call ends with a status, and the connection goes on.
func TestHandlerPanics(t *testing.T) {
	t.Parallel()
	withCaller(t, func(_ context.Context, m string) error {
		if m == "panic" {
			panic(errors.New("a defect"))
		}
		return nil
	}, func(t *testing.T, _ *Server, c *caller) {
		c.send(t, call(1, "panic"), call(3, "b"))
		require.Equal(t, []uint32{1, 3}, flat(c.answered()))
		c.send(t, call(5, "c"))
		require.Equal(t, []uint32{5}, flat(c.answered()))
	})
}

// TestContextEnds: that of a call whose client resets it, or leaves, with the functions that wait for it. A call that
// is answered leaves nothing.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *Server, c *caller)
		want error
	}{
		"reset": {func(t *testing.T, _ *Server, c *caller) { c.send(t, h2frame.AppendReset(nil, 1, http2.ErrCodeCancel)) }, context.Canceled},
		"leave": {func(_ *testing.T, _ *Server, c *caller) { _ = c.conn.Close() }, context.Canceled},
		"stop":  {func(_ *testing.T, s *Server, _ *caller) { s.Stop() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got error
			called, stopped := false, true
			withCaller(t, func(ctx context.Context, _ string) error {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				stopped = context.AfterFunc(ctx, func() {})()
				done := make(chan struct{})
				context.AfterFunc(ctx, func() { called = true; close(done) })
				nonblock.WillWait(ctx)
				<-child.Done()
				<-done
				got = ctx.Err()
				return io.EOF
			}, func(t *testing.T, s *Server, caller *caller) {
				caller.send(t, call(1, "a"))
				require.Empty(t, caller.answered())
				c.end(t, s, caller)
				synctest.Wait()
				require.Equal(t, c.want, got)
				require.True(t, called)
				require.True(t, stopped)
			})
		})
	}
}
