//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenConfig opens sockets, with SO_REUSEPORT when several servers are to
// share a port.
func listenConfig(reuse bool) *net.ListenConfig {
	c := &net.ListenConfig{}
	if !reuse {
		return c
	}
	c.Control = func(_, _ string, conn syscall.RawConn) error {
		var failed error
		err := conn.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		return errors.Join(err, failed)
	}
	return c
}

func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
