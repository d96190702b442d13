//go:build unix

package http1_test

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
	"triton/server/http1/http1test"
)

// TestLongHead: the size of a request line with headers is bounded.
func TestLongHead(t *testing.T) {
	svc := newStub()
	addr := http1test.Start(t, http1.NewServer(svc, http1.Options{}))
	for size, want := range map[int]string{20 << 10: "HTTP/1.1 200 ", 60 << 10: "HTTP/1.1 200 ", 100 << 10: "HTTP/1.1 431 "} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", size)+"\r\n\r\n")
		require.NoError(t, err)
		got := make([]byte, len(want))
		_, err = io.ReadFull(c, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got), size)
	}
}

// TestPipelineNeverReads: a client that pipelines without reading replies blocks only itself.
func TestPipelineNeverReads(t *testing.T) {
	http1test.Both(t, func(t *testing.T, start http1test.Serving) {
		addr := start(t, newStub(), http1.Options{})
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
		batch := strings.Repeat("GET "+unknownPath+" HTTP/1.1\r\nHost: x\r\n\r\n", 1000)
		for err == nil {
			_, err = io.WriteString(c, batch)
		}
		code, answer := post(t, addr, readPath, payload)
		require.Equal(t, 200, code, answer)
	})
}

// TestManyConnections: ten thousand idle connections take little memory each, and further clients
// are served.
func TestManyConnections(t *testing.T) {
	const perConnection = 12 << 10
	count := room(t, 10000)
	svc := newStub()
	s := http1.NewServer(svc, http1.Options{})
	addr := http1test.Start(t, s)
	clients := make([]net.Conn, count)
	defer func() {
		for _, c := range clients {
			if c != nil {
				c.Close()
			}
		}
	}()
	before := memory()
	var group sync.WaitGroup
	for part := range 8 {
		group.Go(func() {
			reader := bufio.NewReader(nil)
			for i := part; i < count; i += 8 {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				clients[i] = c
				if _, err = io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Error(err)
					return
				}
				reader.Reset(c)
				if reply(t, reader).StatusCode != 200 {
					t.Error("not live")
				}
			}
		})
	}
	group.Wait()
	require.Eventually(t, func() bool { return s.Connections() == int64(count) }, waitTime, pollTime)
	each := (memory() - before) / int64(count)
	t.Logf("%d idle connections take %d bytes each, the client's side included", count, each)
	require.Less(t, each, int64(perConnection))
	for range 20 {
		code, answer := post(t, addr, readPath, payload)
		require.Equal(t, 200, code, answer)
	}
}

// room returns how many connections with both ends the limit of open files allows, at most want.
func room(t *testing.T, want int) int {
	t.Helper()
	if raceEnabled {
		want /= 10
	}
	const others = 200
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if need := uint64(2*want + others); limit.Cur < need {
		limit.Cur = min(limit.Max, need)
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	}
	most := (int(min(limit.Cur, 1<<30)) - others) / 2
	if most < want/10 {
		t.Skipf("no more than %d files may be open, %d connections need %d", limit.Cur, want, 2*want+others)
	}
	return min(want, most)
}

// memory returns the bytes of heap and stacks in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
