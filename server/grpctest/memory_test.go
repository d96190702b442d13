//go:build linux

package grpctest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestConnectionMemory measures the memory of many connections of which one in a hundred is active:
// TRITON_CONNECTIONS=9700. Each has made a call before. The idle clients are open files without memory.
func TestConnectionMemory(t *testing.T) { // not parallel: it measures the memory
	n, err := strconv.Atoi(os.Getenv("TRITON_CONNECTIONS"))
	if err != nil {
		t.Skip("TRITON_CONNECTIONS says how many connections")
	}
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Cur < uint64(2*n+500) {
		t.Skipf("%d open files are allowed, %d are needed", limit.Cur, 2*n+500)
	}
	for _, on := range transports {
		t.Run(on.name, func(t *testing.T) {
			srv := on.make()
			srv.RegisterService(&oracleDesc, &record{})
			lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			served := make(chan struct{})
			go func() { defer close(served); _ = srv.Serve(readyListener{lis}) }()
			defer func() { srv.Stop(); <-served }()
			at := lis.Addr().String()
			before, idle := measureMemory(), n*99/100
			for range idle {
				conn := connected(t, at)
				defer conn.Close()
			}
			t.Logf("%d idle connections: %s", idle, measureMemory().since(before, idle))
			<-time.After(25 * time.Second) // connections that are idle for long may need less
			t.Logf("%d connections that are idle for long: %s", idle, measureMemory().since(before, idle))
			for range n / 100 {
				conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
				require.NoError(t, err)
				defer conn.Close()
				for range 100 {
					require.NoError(t, conn.Invoke(t.Context(), oracleUnary, wrapperspb.Bytes([]byte{1, 2, 3}), &wrapperspb.BytesValue{}))
				}
			}
			t.Logf("%d connections, one in a hundred active, its client's memory among them: %s", n, measureMemory().since(before, n))
		})
	}
}

// connected returns a connection whose server has answered a call.
func connected(t *testing.T, at string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	s := &script{}
	s.encoder = hpack.NewEncoder(&s.block)
	s.add(http2.FrameSettings, 0, 0, nil)
	s.headers(1, callHeaders(oracleUnary), false)
	s.data(1, s.message(), true)
	b := []byte(http2.ClientPreface)
	for _, f := range s.frames {
		b = append(b, f.bytes()...)
	}
	_, err = c.Write(b)
	require.NoError(t, err)
	f := http2.NewFramer(c, c)
	for {
		got, err := f.ReadFrame()
		require.NoError(t, err)
		if h, ok := got.(*http2.HeadersFrame); ok && h.StreamEnded() {
			require.NoError(t, c.SetDeadline(time.Time{}))
			return c
		}
	}
}

// memoryUse is what the process needs.
type memoryUse struct{ heap, stacks, resident, goroutines int }

func measureMemory() memoryUse {
	runtime.GC()
	debug.FreeOSMemory() // and what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := memoryUse{heap: int(m.HeapAlloc), stacks: int(m.StackInuse), goroutines: runtime.NumGoroutine()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size int
		_, _ = fmt.Sscan(string(text), &size, &u.resident)
		u.resident *= os.Getpagesize()
	}
	return u
}

func (u memoryUse) since(before memoryUse, n int) string {
	return fmt.Sprintf("each %d bytes of heap, %d of stacks, %d resident, %.2f goroutines", (u.heap-before.heap)/n,
		(u.stacks-before.stacks)/n, (u.resident-before.resident)/n, float64(u.goroutines-before.goroutines)/float64(n))
}

// readyListener has connections that take a buffer only when there is something to read, as those of a whole server.
type readyListener struct{ net.Listener }

func (l readyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp := c.(*net.TCPConn)
	raw, err := tcp.SyscallConn()
	return &readyConn{tcp, raw}, err
}

type readyConn struct {
	*net.TCPConn
	raw syscall.RawConn
}

// NetConn returns the connection below.
func (c *readyConn) NetConn() net.Conn { return c.TCPConn }

// ReadOnReady is what both transports look for.
func (c *readyConn) ReadOnReady(size int, pool mem.BufferPool) (b *[]byte, n int, err error) {
	waited := c.raw.Read(func(fd uintptr) bool {
		b = pool.Get(size)
		if n, err = syscall.Read(int(fd), *b); errors.Is(err, syscall.EAGAIN) {
			pool.Put(b)
			return false
		}
		return true
	})
	switch {
	case waited != nil:
		return nil, 0, waited
	case err == nil && n == 0:
		err = io.EOF
	}
	if err != nil {
		pool.Put(b)
		return nil, 0, err
	}
	return b, n, nil
}
