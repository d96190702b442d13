package child

import (
	"syscall"

	"triton/pkg/nonblock"
)

// attempt is a write that does not wait. Its function is made once, because each call would
// allocate it. One sender at a time uses it.
type attempt struct {
	raw    syscall.RawConn // nil: the stream has no descriptor
	once   func(fd uintptr) bool
	b      []byte
	n      int
	failed error
}

func (a *attempt) init(to any) {
	pipe, ok := to.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	a.raw = raw
	a.once = func(fd uintptr) bool {
		a.n, a.failed = nonblock.Write(fd, a.b, len(a.b) > nonblock.Large)
		return true
	}
}

// try writes what the pipe takes without waiting, and returns how much that was.
func (a *attempt) try(b []byte) int {
	if a.raw == nil {
		return 0
	}
	a.b = b
	err := a.raw.Write(a.once)
	n, failed := a.n, a.failed
	a.b, a.n, a.failed = nil, 0, nil
	if err != nil || failed != nil {
		return 0 // the goroutine meets the error again
	}
	return max(n, 0)
}
