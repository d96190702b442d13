package grpcapi_test

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/grpcapi"
	"triton/server/memory"
)

// The server's: a step of a message ends the connection between them.
const (
	stepTime = 2 * time.Minute
	lateTime = 3 * time.Minute
)

// inBubble serves in memory with a budget of 1 MiB for all. It gives the test a
// client that speaks frame by frame, and one of gRPC over another connection.
func inBubble(t *testing.T, test func(t *testing.T, slow *slowClient, other inferencepb.GRPCInferenceServiceClient)) {
	t.Helper()
	inBubbleOf(t, memory.New(1200<<10), test)
}

// inBubbleOf is inBubble with a budget.
func inBubbleOf(t *testing.T, budget *memory.Budget, test func(t *testing.T, slow *slowClient, other inferencepb.GRPCInferenceServiceClient)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		lis := bufconn.Listen(1 << 20)
		opts := grpcapi.Default(s.pool)
		opts.Memory = budget
		srv := newServer(t, s, opts)
		done := make(chan error, 1)
		go func() { done <- srv.Serve(lis) }()
		c, err := lis.Dial()
		require.NoError(t, err)
		conn, err := grpc.NewClient("passthrough:bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithIdleTimeout(0),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
		require.NoError(t, err)
		defer func() {
			c.Close()
			conn.Close()
			srv.Stop()
			require.NoError(t, <-done)
			synctest.Wait()
		}()
		test(t, slowClientOver(t, c), inferencepb.NewGRPCInferenceServiceClient(conn))
	})
}

// closed receives a value when the server has closed the connection.
func (c *slowClient) closed() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := c.framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	return done
}

// framed returns a request in the form of the transport.
func framed(t *testing.T, r *inferencepb.ModelInferRequest) []byte {
	t.Helper()
	msg, err := proto.Marshal(r)
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(msg))), msg...)
}

// TestSlowMessageGivesWay: a small message that has not arrived after a second loses its connection
// when its memory is needed by another.
func TestSlowMessageGivesWay(t *testing.T) {
	for name, send := range map[string]func(t *testing.T, c *slowClient){
		"within the message": func(_ *testing.T, c *slowClient) { c.announce(1, 60<<10); c.send(1, 10, 10) },
		"without its end": func(t *testing.T, c *slowClient) {
			require.NoError(t, c.framer.WriteData(1, false, framed(t, echoRequest(pattern(1000)))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			budget := memory.New(8 << 20)
			inBubbleOf(t, budget, func(t *testing.T, slow *slowClient, other inferencepb.GRPCInferenceServiceClient) {
				large := int(budget.Limit() * 7 / 8)
				budget.Add(memory.Messages, large)
				closed := slow.closed()
				slow.open(1, rpc.ModelInfer)
				send(t, slow)
				synctest.Wait()
				rest := int(budget.Limit() - budget.Total())
				budget.Add(memory.Messages, rest)
				small := echoRequest(pattern(10))
				_, err := other.ModelInfer(t.Context(), small)
				require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err), "%v", err)
				time.Sleep(time.Second)
				_, err = other.ModelInfer(t.Context(), small)
				require.NoError(t, err)
				<-closed
				synctest.Wait()
				require.EqualValues(t, 1, budget.Stopped())
				budget.Return(memory.Messages, large+rest)
				require.Zero(t, budget.Total())
			})
		})
	}
}

// TestStalledMessage: a client that stops within a message loses its connection after two to three
// minutes, which releases the charge of the message.
func TestStalledMessage(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		send   func(t *testing.T, c *slowClient)
	}{
		"within the first step": {rpc.ModelInfer, func(_ *testing.T, c *slowClient) { c.announce(1, 900<<10); c.send(1, 10, 10) }},
		"within a later step":   {rpc.ModelInfer, func(_ *testing.T, c *slowClient) { c.announce(1, 900<<10); c.send(1, 700<<10, 16<<10) }},
		"of a stream":           {rpc.ModelStreamInfer, func(_ *testing.T, c *slowClient) { c.announce(1, 900<<10); c.send(1, 700<<10, 16<<10) }},
		"of administration":     {"/" + rpc.Service + "/RepositoryModelLoad", func(_ *testing.T, c *slowClient) { c.announce(1, 900<<10); c.send(1, 700<<10, 16<<10) }},
		"without its end": {rpc.ModelInfer, func(t *testing.T, c *slowClient) {
			for b := framed(t, echoRequest(pattern(700<<10))); len(b) > 0; b = b[min(len(b), 16<<10):] {
				require.NoError(t, c.framer.WriteData(1, false, b[:min(len(b), 16<<10)]))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, slow *slowClient, other inferencepb.GRPCInferenceServiceClient) {
				closed := slow.closed()
				slow.open(1, c.method)
				c.send(t, slow)
				synctest.Wait()
				large := echoRequest(pattern(1020 << 10))
				_, err := other.ModelInfer(t.Context(), large)
				require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
				time.Sleep(stepTime - time.Second)
				_, err = other.ModelInfer(t.Context(), large)
				require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
				time.Sleep(lateTime - stepTime + 2*time.Second)
				synctest.Wait()
				select {
				case <-closed:
				default:
					t.Fatal("the connection is still open")
				}
				_, err = other.ModelInfer(t.Context(), large)
				require.NoError(t, err)
			})
		})
	}
}

// TestSlowMessage: a message may be slow as long as data arrives, also after a fast start, and a
// stream may be idle between messages.
func TestSlowMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, slow *slowClient, _ inferencepb.GRPCInferenceServiceClient) {
		ends := make(chan map[uint32]end, 1)
		go func() { ends <- slow.await(1) }()
		slow.open(1, rpc.ModelInfer)
		slow.open(3, rpc.ModelStreamInfer)
		for id := range uint32(2) { // room for the reply
			require.NoError(t, slow.framer.WriteWindowUpdate(id, 1<<20))
		}
		b := framed(t, echoRequest(pattern(900<<10)))
		for i := 0; len(b) > 0; i++ {
			switch { // fast at first, so that the steps grow, and then ever slower
			case i >= 40:
				time.Sleep(stepTime / 9)
			case i >= 8:
				time.Sleep(stepTime / 35)
			}
			n := min(len(b), 16<<10)
			require.NoError(t, slow.framer.WriteData(1, n == len(b), b[:n]))
			b = b[n:]
		}
		require.Equal(t, map[uint32]end{1: {}}, <-ends)
		go func() { ends <- slow.await(1) }()
		time.Sleep(time.Hour) // before gRPC itself asks whether the client is there
		require.NoError(t, slow.framer.WriteData(3, true, framed(t, echoRequest(pattern(10)))))
		require.Equal(t, map[uint32]end{3: {}}, <-ends)
	})
}
