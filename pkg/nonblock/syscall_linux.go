//go:build linux && !race

package nonblock

import (
	"syscall"
	"unsafe"
)

func quietRead(fd uintptr, b []byte) (int, error) { return call(syscall.SYS_READ, fd, b) }

func quietWrite(fd uintptr, b []byte) (int, error) { return call(syscall.SYS_WRITE, fd, b) }

func call(number, fd uintptr, b []byte) (int, error) {
	for {
		n, _, err := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch err {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, err
		}
	}
}

// Announce wakes the scheduler's monitor if it sleeps. It costs as much as the shortest announced
// call.
func Announce() { _, _, _ = syscall.Syscall(syscall.SYS_GETPPID, 0, 0, 0) }
