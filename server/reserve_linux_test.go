package server

import (
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReserve: a reserved port refuses connections, can be listened to by the server, and not be reserved while
// another socket listens.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "0.0.0.0", "::1", "::", "localhost", ""} {
		taken, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Logf("%s: %v", address, err) // no IPv6
			continue
		}
		e := Endpoint{Allow: true, Address: address, Port: taken.Addr().(*net.TCPAddr).Port}
		_, err = reserve(e, "HTTP")
		require.EqualError(t, err, "failed to start HTTP service: Unavailable - Socket '"+e.String()+"' already in use ")
		require.NoError(t, taken.Close())

		release, err := reserve(e, "HTTP")
		require.NoError(t, err)
		_, err = net.Dial("tcp", net.JoinHostPort("localhost", strconv.Itoa(e.Port)))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		l, err := listen(e, "HTTP")
		require.NoError(t, err)
		release()
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, l.Close())
	}
	for _, e := range []Endpoint{{Address: "127.0.0.1"}, {Address: "unix:/run/none", Port: 1}, {Address: "no such host", Port: 1}} {
		release, err := reserve(e, "HTTP")
		require.NoError(t, err)
		release()
	}
}
