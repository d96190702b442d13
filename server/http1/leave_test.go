package http1

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeave: after Leave each reply ends its connection, in both forms of requests, and new
// connections are still accepted. The query of a request reaches the handler.
func TestLeave(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := NewServer(HandlerFunc(func(x *Exchange) {
		x.Text = append(x.Text[:0], x.Path+" "+x.Query...)
		x.Send()
	}), Options{})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	ask := func(version string) string {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write([]byte("GET /a?verbose&x=1 HTTP/" + version + "\r\nHost: h\r\nConnection: keep-alive\r\n\r\n"))
		require.NoError(t, err)
		var b [1024]byte
		n, err := c.Read(b[:])
		require.NoError(t, err)
		return string(b[:n])
	}
	for _, version := range []string{"1.1", "1.0"} { // net/http answers the second
		reply := ask(version)
		require.True(t, strings.HasSuffix(reply, "/a verbose&x=1"), reply)
		require.NotContains(t, reply, "Connection: close", version)
	}
	s.Leave()
	for _, version := range []string{"1.1", "1.0"} {
		require.Contains(t, ask(version), "Connection: close", version)
	}
	require.NoError(t, s.Shutdown(t.Context()))
	require.Error(t, <-done)
}
