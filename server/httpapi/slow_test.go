package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/http1"
	"triton/server/http1/http1test"
	"triton/server/httpapi"
	"triton/server/memory"
)

// pipes is a listener whose connections are pipes.
type pipes struct {
	ch   chan net.Conn
	done chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.ch:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.done); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// dial returns the client's end of a connection.
func (l *pipes) dial() net.Conn {
	c, far := net.Pipe()
	l.ch <- far
	return c
}

// TestSlowUploadsGiveWay fills the memory with small bodies that do not end. After a second the oldest
// gives way to a request that arrives at once, and gets an answer. The others go on.
func TestSlowUploadsGiveWay(t *testing.T) {
	t.Parallel()
	const size = 200 << 10
	text := `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1` + strings.Repeat(" ", size) + `]}]}`
	begun, rest := text[:size-1000], text[size-1000:]
	for name, c := range map[string]struct {
		transport func(h http1.Handler, o http1.Options) http1test.Transport
		head      string
		chunked   bool
	}{
		"own":         {own, fmt.Sprintf("Content-Length: %d", len(text)), false},
		"handed over": {own, "Transfer-Encoding: chunked", true},
		"net/http":    {foreign, fmt.Sprintf("Content-Length: %d", len(text)), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				budget := memory.New(8 << 20)
				svc := newStub(tensor.NewPoolOf(tensor.PoolOptions{Account: budget.Pools()}))
				server := c.transport(httpapi.New(svc, httpapi.Options{Pool: svc.pool, Memory: budget}), http1.Options{})
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				done := make(chan error, 1)
				go func() { done <- server.Serve(l) }()
				defer func() {
					require.NoError(t, server.Shutdown(t.Context()))
					<-done
					require.Zero(t, budget.Used(memory.Tensors))
				}()
				budget.Add(memory.Messages, 7<<20)
				chunk := func(s string) string {
					if c.chunked {
						return fmt.Sprintf("%x\r\n%s\r\n", len(s), s)
					}
					return s
				}
				var slow []net.Conn
				for range 2 {
					conn := l.dial()
					defer conn.Close()
					slow = append(slow, conn)
					_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", inferPath, c.head, chunk(begun))
					require.NoError(t, err)
				}
				synctest.Wait()
				require.EqualValues(t, 2*memory.Small, budget.Used(memory.Tensors))
				budget.Add(memory.Messages, 2*memory.Small)
				ask := func() int {
					conn := l.dial()
					defer conn.Close()
					body := one(good)
					_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", inferPath, len(body), body)
					require.NoError(t, err)
					return answer(t, conn).StatusCode
				}
				require.Equal(t, 503, ask(), "all are young")
				time.Sleep(time.Second)
				require.Equal(t, 200, ask())
				ended := answer(t, slow[0])
				require.Equal(t, 503, ended.StatusCode)
				require.Equal(t, "1", ended.Header.Get("Retry-After"))
				require.True(t, ended.Close)
				synctest.Wait()
				require.EqualValues(t, memory.Small, budget.Used(memory.Tensors), "its memory came back")
				_, err := io.WriteString(slow[1], chunk(rest))
				require.NoError(t, err)
				if c.chunked {
					_, err = io.WriteString(slow[1], "0\r\n\r\n")
					require.NoError(t, err)
				}
				require.Equal(t, 200, answer(t, slow[1]).StatusCode)
				require.EqualValues(t, 1, budget.Stopped())
				synctest.Wait()
				budget.Return(memory.Messages, 7<<20+2*memory.Small)
				require.Zero(t, budget.Total())
			})
		})
	}
}

func own(h http1.Handler, o http1.Options) http1test.Transport { return http1.NewServer(h, o) }

func foreign(h http1.Handler, o http1.Options) http1test.Transport {
	return &http.Server{Handler: http1.NewHTTPHandler(h, o)} //nolint:gosec // a test's own clients
}

// answer reads a reply.
func answer(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}
