//go:build unix

package grpctest_test

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestConnectionMemory measures the memory of many connections of which one in a hundred is active:
// TRITON_CONNECTIONS=9700. The idle clients are open files without memory.
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
			at := serveOn(t, srv)
			before, goroutines := memoryInUse(), runtime.NumGoroutine()
			for range n * 99 / 100 {
				conn := connected(t, at)
				defer conn.Close()
			}
			idle := memoryInUse()
			t.Logf("%d bytes and %.2f goroutines for each of %d idle connections", (idle-before)/int64(n*99/100),
				float64(runtime.NumGoroutine()-goroutines)/float64(n*99/100), n*99/100)
			for range n / 100 {
				conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
				require.NoError(t, err)
				defer conn.Close()
				for range 100 {
					require.NoError(t, conn.Invoke(t.Context(), oracleUnary, wrapperspb.Bytes([]byte{1, 2, 3}), &wrapperspb.BytesValue{}))
				}
			}
			t.Logf("%d bytes for each of %d connections, one in a hundred active, its client's memory among them", (memoryInUse()-before)/int64(n), n)
		})
	}
}

// connected returns a connection whose server has answered a ping.
func connected(t *testing.T, at string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = c.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	f := http2.NewFramer(c, c)
	require.NoError(t, f.WriteSettings())
	require.NoError(t, f.WritePing(false, [8]byte{1}))
	for {
		got, err := f.ReadFrame()
		require.NoError(t, err)
		if p, ok := got.(*http2.PingFrame); ok && p.IsAck() {
			return c
		}
	}
}

// memoryInUse returns the size of the heap and the stacks.
func memoryInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
