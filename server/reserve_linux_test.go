package server

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// listenAnywhere listens at a port that the kernel chooses; nil: the machine has no such address.
func listenAnywhere(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Logf("%s: %v", address, err)
		return nil
	}
	return l
}

// TestReserve: a reserved port refuses connections and every other server until it is released, and cannot be reserved
// while another socket listens.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "0.0.0.0", "::1", "::", "localhost", ""} {
		// Between two uses of the port, another process may take it.
		for try := 0; !t.Failed(); try++ {
			taken := listenAnywhere(t, address)
			if taken == nil {
				break
			}
			e := Endpoint{Allow: true, Address: address, Port: taken.Addr().(*net.TCPAddr).Port}
			inUse := "failed to start HTTP service: Unavailable - Socket '" + e.String() + "' already in use "
			_, err := reserve(e, "HTTP")
			require.EqualError(t, err, inUse)
			require.NoError(t, taken.Close())

			release, err := reserve(e, "HTTP")
			if errors.Is(err, syscall.EADDRINUSE) && try < 100 {
				continue
			}
			require.NoError(t, err)
			_, err = net.Dial("tcp", net.JoinHostPort("localhost", strconv.Itoa(e.Port)))
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			_, err = reserve(e, "HTTP")
			require.EqualError(t, err, inUse, "of two servers that start in the same moment, the second one fails")
			_, err = listen(e, "HTTP")
			require.EqualError(t, err, inUse)
			release()

			l, err := listen(e, "HTTP")
			if errors.Is(err, syscall.EADDRINUSE) && try < 100 {
				continue
			}
			require.NoError(t, err)
			conn, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			require.NoError(t, l.Close())
			break
		}
	}
	for _, e := range []Endpoint{{Address: "127.0.0.1"}, {Address: "unix:/run/none", Port: 1}, {Address: "no such host", Port: 1}} {
		release, err := reserve(e, "HTTP")
		require.NoError(t, err)
		release()
	}
}

// TestReserveAfterServer: what a former server left on its way does not keep the next one from its port.
func TestReserveAfterServer(t *testing.T) {
	t.Parallel()
	for try := 0; ; try++ {
		former := listenAnywhere(t, "127.0.0.1")
		port := former.Addr().(*net.TCPAddr).Port
		client, err := net.Dial("tcp", former.Addr().String())
		require.NoError(t, err)
		served, err := former.Accept()
		require.NoError(t, err)
		require.NoError(t, former.Close())
		require.NoError(t, served.Close()) // first, so that it waits for late packets on the server's port
		require.NoError(t, client.Close())
		e := Endpoint{Allow: true, Address: "127.0.0.1", Port: port}
		release, err := reserve(e, "HTTP")
		if errors.Is(err, syscall.EADDRINUSE) && try < 100 {
			continue
		}
		require.NoError(t, err)
		release()
		return
	}
}

// TestReserveShared: servers that share a port reserve it together.
func TestReserveShared(t *testing.T) {
	t.Parallel()
	for try := 0; ; try++ {
		free := listenAnywhere(t, "127.0.0.1")
		e := Endpoint{Allow: true, Address: "127.0.0.1", Port: free.Addr().(*net.TCPAddr).Port, Reuse: true}
		require.NoError(t, free.Close())
		first, err := reserve(e, "HTTP")
		if errors.Is(err, syscall.EADDRINUSE) && try < 100 {
			continue
		}
		require.NoError(t, err)
		second, err := reserve(e, "HTTP")
		require.NoError(t, err)
		first()
		second()
		return
	}
}
