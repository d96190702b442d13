package http1_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
	"triton/server/http1/http1test"
)

// TestRequestBehindTheEnd: a client that sends a request while the server closes its idle
// connection sees EOF and no reset.
func TestRequestBehindTheEnd(t *testing.T) {
	t.Parallel()
	for name, chunked := range map[string]bool{"own": false, "net/http": true} {
		t.Run(name, func(t *testing.T) {
			svc := newStub()
			s, addr, ended := run(t, svc)
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer c.Close()
			in := bufio.NewReader(c)
			if chunked {
				fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", readPath, len(payload), payload)
				require.Equal(t, 200, reply(t, in).StatusCode)
			}
			require.Equal(t, 200, get(t, c, in, "/live").StatusCode)
			down := make(chan error, 1)
			go func() { down <- s.Shutdown(context.Background()) }()
			_, err = in.ReadByte()
			require.ErrorIs(t, err, io.EOF)
			for range 3 {
				_, err = io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
				require.NoError(t, err)
				_, err = c.Read(make([]byte, 1))
				require.ErrorIs(t, err, io.EOF)
			}
			require.NoError(t, c.Close())
			require.NoError(t, <-down)
			<-ended
		})
	}
}

// TestRequestBehindAReply: a reply with "Connection: close" is delivered although the client has
// already sent more requests.
func TestRequestBehindAReply(t *testing.T) {
	t.Parallel()
	svc := newStub()
	running, finish := make(chan struct{}), make(chan struct{})
	svc.handle = func(*http1.Exchange) {
		close(running)
		<-finish
	}
	s, addr, ended := run(t, svc)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	body := payload
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	<-running
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
	_, err = io.WriteString(c, request+request)
	require.NoError(t, err)
	close(finish)
	in := bufio.NewReader(c)
	require.True(t, reply(t, in).Close)
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, c.Close())
	require.NoError(t, <-down)
}

// TestDrainKeepsIdleConnections: while a request is in flight, idle connections stay open and their
// requests are answered.
func TestDrainKeepsIdleConnections(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", encrypted), func(t *testing.T) {
			svc := newStub()
			running, finish := make(chan struct{}), make(chan struct{})
			var begun atomic.Bool
			svc.handle = func(*http1.Exchange) {
				if !begun.Swap(true) {
					close(running)
					<-finish
				}
			}
			s := http1.NewServer(svc, http1.Options{IdleGrace: 20 * time.Millisecond})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addr := l.Addr().String()
			dial := func() (net.Conn, error) { return net.Dial("tcp", addr) }
			if encrypted {
				config, client := certificate(t)
				l = tls.NewListener(l, config)
				dial = func() (net.Conn, error) { return tls.Dial("tcp", addr, client) }
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(l) }()
			var conns []net.Conn
			var ins []*bufio.Reader
			body := payload
			own := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
			chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
			const post = "POST " + readPath + " HTTP/1.1\r\nHost: x\r\n"
			for range 4 {
				c, err := dial()
				require.NoError(t, err)
				defer c.Close()
				conns, ins = append(conns, c), append(ins, bufio.NewReader(c))
				require.Equal(t, 200, get(t, c, ins[len(ins)-1], "/live").StatusCode)
			}
			_, err = io.WriteString(conns[0], post+own)
			require.NoError(t, err)
			<-running
			_, err = io.WriteString(conns[2], post+chunked)
			require.NoError(t, err)
			require.Equal(t, 200, reply(t, ins[2]).StatusCode)
			down := make(chan error, 1)
			go func() { down <- s.Shutdown(context.Background()) }()
			require.ErrorIs(t, <-ended, http.ErrServerClosed)
			for i := 1; i < 3; i++ {
				_, err = io.WriteString(conns[i], post+map[int]string{1: own, 2: chunked}[i])
				require.NoError(t, err)
				resp := reply(t, ins[i])
				require.Equal(t, 200, resp.StatusCode)
				require.True(t, resp.Close)
				_, err = ins[i].ReadByte()
				require.ErrorIs(t, err, io.EOF)
				conns[i].Close()
			}
			select {
			case err := <-down:
				t.Fatalf("Shutdown has not waited: %v", err)
			default:
			}
			close(finish)
			require.True(t, reply(t, ins[0]).Close)
			_, err = ins[3].ReadByte()
			require.ErrorIs(t, err, io.EOF)
			conns[0].Close()
			conns[3].Close()
			require.NoError(t, <-down)
			require.Zero(t, s.Connections())
		})
	}
}

// TestMaxConnections: clients above the limit get 503, and are served once others disconnect.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	svc := newStub()
	addr := http1test.Start(t, http1.NewServer(svc, http1.Options{MaxConnections: 2}))
	var conns []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		conns = append(conns, c)
		require.Equal(t, 200, get(t, c, bufio.NewReader(c), "/live").StatusCode)
	}
	for range 3 {
		text := dial(t, addr, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n", true)
		require.Regexp(t, "^HTTP/1.1 503 Service Unavailable\r\n", text)
		require.Contains(t, text, `{"error":"the server has reached its limit of HTTP connections`)
	}
	for _, c := range conns {
		require.Equal(t, 200, get(t, c, bufio.NewReader(c), "/live").StatusCode)
	}
	require.NoError(t, conns[0].Close())
	require.Eventually(t, func() bool {
		return dial(t, addr, "GET /live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false)[9:12] == "200"
	}, waitTime, 10*time.Millisecond)
}
