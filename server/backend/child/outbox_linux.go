package child

import (
	"syscall"

	"triton/pkg/nonblock"
)

// try writes what the pipe takes without waiting, and returns how much that was.
func (o *outbox) try(b []byte) (n int) {
	pipe, ok := o.conn.to.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, failed = nonblock.Write(fd, b, len(b) > nonblock.Large)
		return true
	})
	if err != nil || failed != nil {
		return 0 // the goroutine meets the error again
	}
	return max(n, 0)
}
