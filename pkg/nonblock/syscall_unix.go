//go:build unix

package nonblock

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// blocks reports whether calls may wait in the system.
func blocks(raw syscall.RawConn) bool {
	flags := 0
	err := raw.Control(func(fd uintptr) { flags, _ = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	return err != nil || flags&unix.O_NONBLOCK == 0
}

func announcedRead(fd uintptr, b []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), b); !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}

func announcedWrite(fd uintptr, b []byte) (n int, err error) {
	for {
		if n, err = syscall.Write(int(fd), b); !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}
