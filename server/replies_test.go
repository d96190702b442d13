package server_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// TestReplyForm: the replies of all HTTP services have one form, and all of them refuse a request
// whose end is ambiguous.
func TestReplyForm(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)), servertest.With(func(o *server.Options) {
		o.SageMaker.Allow = true
		o.Vertex.Allow, o.Vertex.PredictRoute, o.Vertex.HealthRoute = true, "/predict", "/health"
	}))
	const end = "Content-Length: 0\r\nConnection: close\r\n\r\n"
	for _, c := range []struct{ addr, path, want string }{
		{s.HTTP, "/v2/health/live", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + end},
		{s.Metrics, "/other", "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n" + end},
		{s.SageMaker, "/ping", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + end},
		{s.SageMaker, "/other", "HTTP/1.1 400 Bad Request\r\n" + end},
		{s.Vertex, "/health", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + end},
		{s.Vertex, "/other", "HTTP/1.1 400 Bad Request\r\n" + end},
	} {
		require.Equal(t, c.want, exchange(t, c.addr, "GET "+c.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
		require.Contains(t, exchange(t, c.addr, "POST "+c.path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
			"its end is ambiguous")
	}
}

// exchange sends text over a connection of its own and returns all that the server sends.
func exchange(t *testing.T, addr, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(all)
}
