package grpcapi_test

import (
	"bytes"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/grpcapi"
)

// idleConn is a client that has begun a stream and says no more.
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

func streamHeaders(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", rpc.ModelStreamInfer},
		{":authority", "x"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
	}
	return b.Bytes()
}

// memory is what the heap and the stacks hold.
func memory() int64 {
	runtime.GC()
	runtime.GC() // what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// serveTCP serves a stub on loopback.
func serveTCP(t *testing.T, s *stub) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	opts := grpcapi.Default(s.pool)
	srv := grpc.NewServer(grpcapi.ServerOptions(opts)...)
	grpcapi.Register(srv, s, opts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(lis)
	}()
	t.Cleanup(func() {
		srv.Stop()
		<-done
	})
	return lis.Addr().String()
}

// TestIdleStreams: thousands of clients that hold an open stream each cost
// little, and another client is served.
func TestIdleStreams(t *testing.T) { // not parallel: it measures the memory
	const n = 3000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2*n+500 {
		t.Skipf("%d open files are allowed, %d are needed", limit.Cur, 2*n+500)
	}
	addr := serveTCP(t, newStub())
	client := dialTCP(t, addr)
	infer := func() {
		_, err := inferencepb.NewGRPCInferenceServiceClient(client).ModelInfer(t.Context(), echoRequest(pattern(1000)))
		require.NoError(t, err)
	}
	infer()
	before := memory()
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range n {
		conns = append(conns, idleConn(t, addr))
	}
	infer()
	each := (memory() - before) / n
	t.Logf("%d bytes for each connection with a stream, its client's among them", each)
	require.Less(t, each, int64(64<<10))
}

func dialTCP(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}
