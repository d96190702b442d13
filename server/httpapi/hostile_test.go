//go:build unix

package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
)

// TestHostileClients: each does its worst for as long as the test runs, and
// another client is served meanwhile.
func TestHostileClients(t *testing.T) {
	for name, text := range map[string]string{
		"no request":          "",
		"half a line":         "POST /v2/mod",
		"half a head":         "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"half a long head":    "GET /v2 HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 7<<10),
		"a head without end":  "GET /v2 HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-Many: a\r\n", 2000),
		"no body":             "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2147483647\r\n\r\n",
		"half a body":         "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\nInference-Header-Content-Length: 2\r\n\r\n{}abc",
		"half a chunk":        "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n{",
		"half a gzip":         "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n\x1f\x8b\x08",
		"half a generate":     "POST /v2/models/g_one/generate HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n{\"INPUT0\":",
		"waits for continue":  "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
		"zeros":               strings.Repeat("\x00", 100<<10),
		"a TLS hello":         "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"a preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		for _, closeWrite := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, half-closed %v", name, closeWrite), func(t *testing.T) {
				t.Parallel()
				both(t, func(t *testing.T, start serving) {
					svc := newService()
					addr := start(t, svc, httpapi.Options{})
					for range 20 {
						c, err := net.Dial("tcp", addr)
						require.NoError(t, err)
						defer c.Close()
						_, _ = io.WriteString(c, text)
						if closeWrite {
							_ = c.(*net.TCPConn).CloseWrite()
						}
					}
					code, answer := post(t, addr, inferPath, one(good))
					require.Equal(t, 200, code, answer)
					// What is declared costs little until it comes: a first buffer each.
					require.Less(t, svc.pool.Bytes(), int64(64<<20))
				})
			})
		}
	}
}

// TestLongHead: the lines and headers of a request take a bounded amount of
// memory, and half a minute at most, whatever comes.
func TestLongHead(t *testing.T) {
	svc := newService()
	addr := start(t, svc, httpapi.NewServer(svc, httpapi.Options{Pool: svc.pool}))
	for size, want := range map[int]string{20 << 10: "HTTP/1.1 200 ", 60 << 10: "HTTP/1.1 200 ", 100 << 10: "HTTP/1.1 431 "} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", size)+"\r\n\r\n")
		require.NoError(t, err)
		got := make([]byte, len(want))
		_, err = io.ReadFull(c, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got), size)
	}
}

// TestNeverReads: a client that takes no large replies holds what they hold and
// nobody up.
func TestNeverReads(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		addr := start(t, svc, httpapi.Options{})
		n := 16 << 20
		head := one(fp32+fmt.Sprintf(`"shape":[%d],"parameters":{"binary_data_size":%d}`, n/4, n), `,"parameters":{"binary_data_output":true}`)
		data := make([]byte, n)
		for range 3 {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4<<10))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s", inferPath, len(head), len(head)+n, head)
			_, err = c.Write(data)
			require.NoError(t, err)
		}
		code, answer := post(t, addr, inferPath, one(good))
		require.Equal(t, 200, code, answer)
	})
}

// TestPipelineNeverReads: replies that nobody reads stop the requests behind
// them.
func TestPipelineNeverReads(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		addr := start(t, newService(), httpapi.Options{})
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
		batch := strings.Repeat("GET /v2/models/simple/config HTTP/1.1\r\nHost: x\r\n\r\n", 1000)
		for err == nil {
			_, err = io.WriteString(c, batch)
		}
		code, answer := post(t, addr, inferPath, one(good))
		require.Equal(t, 200, code, answer)
	})
}

// TestManyConnections: ten thousand clients that have asked once and stay cost
// little each, and others are served.
func TestManyConnections(t *testing.T) {
	const perConnection = 12 << 10
	count := room(t, 10000)
	svc := newService()
	s := httpapi.NewServer(svc, httpapi.Options{Pool: svc.pool})
	addr := start(t, svc, s)
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
				if _, err = io.WriteString(c, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
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
		code, answer := post(t, addr, inferPath, one(good))
		require.Equal(t, 200, code, answer)
	}
}

// room is how many connections the test may open, both ends of them: what is
// wanted or what the limit of open files leaves.
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

// memory is what heap and stacks take.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
