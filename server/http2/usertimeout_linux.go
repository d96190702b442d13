package http2

import (
	"math"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout sets how long the peer may leave bytes without an acknowledgment, or without room for more, before
// the system ends the connection. It would repeat the bytes for a quarter of an hour.
func setUserTimeout(c *net.TCPConn, d time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	ms := int(min(d.Milliseconds(), math.MaxInt32))
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms))
	})
	if err == nil {
		err = failed
	}
	return err
}
