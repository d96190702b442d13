//go:build unix

package http1

import (
	"errors"

	"golang.org/x/sys/unix"
)

const canPeek = true

// peek checks for input without consuming it. closed reports that the other side has closed or
// reset the connection.
func peek(fd uintptr) (ready, closed bool) {
	var b [1]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false, false
	case err != nil:
		return true, true
	}
	return true, n == 0
}
