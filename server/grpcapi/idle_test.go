//go:build unix

package grpcapi_test

import (
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"triton/pkg/inferencepb"
)

// idleConn returns a client that has begun a stream and sends nothing.
func idleConn(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	f := http2.NewFramer(c, c)
	require.NoError(t, f.WriteSettings())
	require.NoError(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: streamHeaders(t), EndHeaders: true}))
	require.NoError(t, f.WritePing(false, [8]byte{1}))
	for { // until the server has seen it all
		frame, err := f.ReadFrame()
		require.NoError(t, err)
		if p, ok := frame.(*http2.PingFrame); ok && p.IsAck() {
			return c
		}
	}
}

// memory returns the size of the heap and the stacks.
func memoryInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestIdleStreams: thousands of clients that hold an open stream each cost
// little, and another client is served.
func TestIdleStreams(t *testing.T) { // not parallel: it measures the memory
	const n = 3000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2*n+500 {
		t.Skipf("%d open files are allowed, %d are needed", limit.Cur, 2*n+500)
	}
	addr := startServer(t).GRPC // the whole server, as its listener has a part in it
	client := dialTCP(t, addr)
	call := func() {
		_, err := inferencepb.NewGRPCInferenceServiceClient(client).ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
		require.NoError(t, err)
	}
	call()
	before := memoryInUse()
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range n {
		conns = append(conns, idleConn(t, addr))
	}
	call()
	each := (memoryInUse() - before) / n
	t.Logf("%d bytes for each connection with a stream, its client's among them", each)
	require.Less(t, each, int64(64<<10))
}
