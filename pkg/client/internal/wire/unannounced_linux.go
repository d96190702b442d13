//go:build !race

package wire

import (
	"syscall"
	"unsafe"
)

// unannounced reads or writes without telling Go's scheduler.
func unannounced(trap, fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
