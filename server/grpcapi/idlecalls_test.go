package grpcapi_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/connlimit"
	"triton/server/grpcapi"
	"triton/server/memory"
)

// minIdleCalls is the server's limit for a small budget.
const minIdleCalls = 256

// TestIdleCalls: many calls without a message end with their connections, the longest idle first. Calls that
// end, in whatever way, no longer count.
func TestIdleCalls(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{
		"inference": rpc.ModelInfer, "stream": rpc.ModelStreamInfer,
		"another call": "/" + rpc.Service + "/ServerLive", "health": "/grpc.health.v1.Health/Watch",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStub()
				lis := limitedListener{bufconn.Listen(1 << 20), connlimit.New(100)}
				opts := grpcapi.Default(s.pool)
				opts.Memory = memory.New(1 << 20)
				srv := newServer(t, s, opts)
				done := make(chan error, 1)
				go func() { done <- srv.Serve(lis) }()
				var conns []net.Conn
				defer func() {
					for _, c := range conns {
						c.Close()
					}
					srv.Stop()
					require.NoError(t, <-done)
				}()
				connect := func() *slowClient {
					c, err := lis.Dial()
					require.NoError(t, err)
					conns = append(conns, c)
					return slowClientOver(t, c)
				}
				open := func(c *slowClient, from, n int) {
					for i := range n {
						c.open(uint32(2*(from+i)+1), method)
					}
					synctest.Wait()
				}
				for range 3 { // calls that end leave nothing behind
					c := connect()
					open(c, 0, minIdleCalls)
					c.conn.Close()
					synctest.Wait()
				}
				require.Zero(t, lis.limit.Evicted())
				first := connect()
				closed := first.closed()
				open(first, 0, minIdleCalls/2)
				second := connect()
				open(second, 0, minIdleCalls/2)
				require.Zero(t, lis.limit.Evicted())
				third := connect()
				open(third, 0, 1)
				<-closed
				require.Positive(t, lis.limit.Evicted())
			})
		})
	}
}

// TestIdleCallsAreRefused: without a connection that could be closed, calls are refused at twice the limit.
func TestIdleCallsAreRefused(t *testing.T) {
	t.Parallel()
	addr := serveTCP(t, newStub(), func(o *grpcapi.Options) { o.Memory = memory.New(1 << 20) })
	conn := dialTCP(t, addr)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2*minIdleCalls+1)
	for range cap(ended) {
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, rpc.ModelStreamInfer)
		require.NoError(t, err)
		go func() { ended <- s.RecvMsg(&inferencepb.ModelStreamInferResponse{}) }()
	}
	err := <-ended
	require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
	require.ErrorContains(t, err, "512 streams and calls without a message are open, the limit is 512 (a part of --request-memory-budget)")
	cancel()
	for range 2 * minIdleCalls {
		require.Equal(t, codes.Canceled, grpcstatus.Code(<-ended))
	}
}
