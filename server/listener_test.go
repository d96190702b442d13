package server

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/connlimit"
)

// TestListenerMakesRoom: a connection without calls makes room for another one, one with a call
// does not.
func TestListenerMakesRoom(t *testing.T) {
	t.Parallel()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	l := &countingListener{Listener: lis, limit: connlimit.New(1)}
	dial := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := dial()
	a, err := l.Accept()
	require.NoError(t, err)
	defer a.Close()
	dial()
	b, err := l.Accept()
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, first)
	require.NoError(t, err, "the server has closed it")

	b.(*countedConn).Use().Begin()
	refused := dial()
	accepted := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			c = nil
		}
		accepted <- c
	}()
	_, err = io.Copy(io.Discard, refused)
	require.NoError(t, err, "there is no room")
	require.NoError(t, b.Close())
	dial()
	c := <-accepted
	require.NotNil(t, c)
	require.NoError(t, c.Close())
}
