package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// try writes what the socket takes without waiting, and returns how much that was.
func (o *outbox) try(b []byte) (n int) {
	socket, ok := o.conn.conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, failed = unix.Write(int(fd), b)
		return true
	})
	if err != nil || failed != nil {
		return 0 // the goroutine meets the error again
	}
	return max(n, 0)
}
