package freeport_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/freeport"
)

var loopback = [4]byte{127, 0, 0, 1}

// chooseOnly makes the kernel choose this port for a socket or none.
func chooseOnly(t *testing.T, fd, port int) {
	t.Helper()
	err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE, port<<16|port)
	if errors.Is(err, unix.ENOPROTOOPT) {
		t.Skip("the kernel is older than Linux 6.3: it has no IP_LOCAL_PORT_RANGE")
	}
	require.NoError(t, err)
}

func newSocket(t *testing.T, reuse int) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, reuse))
	return fd
}

// others are the ways in which another process uses a port. Each returns its error while the port is
// reserved.
var others = map[string]struct {
	use   func(t *testing.T, port int) error
	fails error
}{
	"a bind to port 0": {fails: unix.EADDRINUSE, use: func(t *testing.T, port int) error {
		fd := newSocket(t, 0)
		chooseOnly(t, fd, port)
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback})
	}},
	"a bind to port 0 with SO_REUSEADDR": {fails: unix.EADDRINUSE, use: func(t *testing.T, port int) error {
		fd := newSocket(t, 1)
		chooseOnly(t, fd, port)
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback})
	}},
	"a bind to port 0 of all addresses": {fails: unix.EADDRINUSE, use: func(t *testing.T, port int) error {
		fd := newSocket(t, 1)
		chooseOnly(t, fd, port)
		return unix.Bind(fd, &unix.SockaddrInet4{})
	}},
	"a bind to the port without SO_REUSEADDR": {fails: unix.EADDRINUSE, use: func(t *testing.T, port int) error {
		return unix.Bind(newSocket(t, 0), &unix.SockaddrInet4{Port: port, Addr: loopback})
	}},
	"an outgoing connection": {fails: unix.EADDRNOTAVAIL, use: func(t *testing.T, port int) error {
		server, err := listen(0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = server.Close() })
		fd := newSocket(t, 0)
		chooseOnly(t, fd, port)
		return unix.Connect(fd, &unix.SockaddrInet4{Port: portOf(server), Addr: loopback})
	}},
	// A client that asks for a server before it listens, and would talk to itself.
	"an outgoing connection to the port": {fails: unix.EADDRNOTAVAIL, use: func(t *testing.T, port int) error {
		fd := newSocket(t, 0)
		chooseOnly(t, fd, port)
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: loopback})
	}},
}

// TestNobodyElseGetsThePort: before a server listens and after it, but when the port is released.
func TestNobodyElseGetsThePort(t *testing.T) {
	t.Parallel()
	for name, other := range others {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := freeport.Reserve(1)
			require.NoError(t, err)
			defer r.Release()
			port := r.Ports()[0]
			require.ErrorIs(t, other.use(t, port), other.fails)
			l, err := listen(port)
			require.NoError(t, err)
			require.NoError(t, l.Close())
			require.ErrorIs(t, other.use(t, port), other.fails, "after a server")
			r.Release()
			err = other.use(t, port)
			for try := 0; err != nil && try < 100; try++ { // a process beside the test may have taken the released port
				another, failed := freeport.Reserve(1)
				require.NoError(t, failed)
				another.Release()
				err = other.use(t, another.Ports()[0])
			}
			require.NoError(t, err)
		})
	}
}

// TestReservationsDiffer makes the kernel choose many ports while others are reserved, on every
// version of it.
func TestReservationsDiffer(t *testing.T) {
	t.Parallel()
	first, err := freeport.Reserve(64)
	require.NoError(t, err)
	defer first.Release()
	seen := map[int]bool{}
	for _, port := range first.Ports() {
		seen[port] = true
	}
	for range 3000 {
		r, err := freeport.Reserve(1)
		require.NoError(t, err)
		require.False(t, seen[r.Ports()[0]])
		r.Release()
	}
}
