package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/freeport"
)

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// TestReserve: a server listens on a reserved port, and another one after it.
func TestReserve(t *testing.T) {
	t.Parallel()
	r, err := freeport.Reserve(20)
	require.NoError(t, err)
	defer r.Release()
	seen := map[int]bool{}
	for _, port := range r.Ports() {
		require.False(t, seen[port], "the ports differ")
		seen[port] = true
		for range 2 { // a server, and the same server again
			l, err := listen(port)
			require.NoError(t, err)
			c, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			served, err := l.Accept()
			require.NoError(t, err)
			_, err = listen(port)
			require.Error(t, err, "two servers do not share a port")
			require.NoError(t, l.Close())
			require.NoError(t, served.Close()) // first, so that it waits for late packets on the server's port
			require.NoError(t, c.Close())
		}
	}
	require.Len(t, seen, 20)
}

// TestRelease: servers outlive the reservation, and the ports are free afterwards.
func TestRelease(t *testing.T) {
	t.Parallel()
	r, err := freeport.Reserve(1)
	require.NoError(t, err)
	l, err := listen(r.Ports()[0])
	require.NoError(t, err)
	r.Release()
	r.Release()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
}

// TestNone: no ports are no error.
func TestNone(t *testing.T) {
	t.Parallel()
	r, err := freeport.Reserve(0)
	require.NoError(t, err)
	require.Empty(t, r.Ports())
	r.Release()
}
