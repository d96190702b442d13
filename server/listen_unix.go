//go:build unix

package server

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenConfig returns the configuration of sockets, with SO_REUSEPORT if several
// servers share a port.
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

// stopListening stops accepting connections, unless some wait to be accepted; then it
// returns false. The check and the shutdown are adjacent, so that hardly any connection
// arrives in between and is reset.
func stopListening(l net.Listener) bool {
	sc, ok := l.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	waiting := false
	_ = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if waiting = err == nil && n > 0; !waiting {
			_ = unix.Shutdown(int(fd), unix.SHUT_RD) // if that has no effect, the Close that follows does it
		}
	})
	return !waiting
}
