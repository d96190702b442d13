package freeport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
)

// hold binds a socket to a port that the kernel chooses. The socket never listens.
//
// At the time of the bind it does not have SO_REUSEADDR. The kernel then marks the port as one
// that is never chosen for others: neither for a bind to port 0 nor for an outgoing connection,
// which includes the connections of a client that asks for a server that does not listen yet.
// The option is set afterwards: the kernel refuses a bind that names the port if one of the two
// sockets lacks the option, or if one listens.
//
// The error is ErrUnsupported where the kernel does not let a server in, as gVisor's does not.
func hold() (port int, holder io.Closer, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("socket: %w", err)
	}
	s := socket(fd)
	defer func() {
		if err != nil {
			_ = s.Close() // err is reported
		}
	}()
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, nil, fmt.Errorf("bind to a free port: %w", err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, nil, fmt.Errorf("getsockname: %w", err)
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, nil, fmt.Errorf("set SO_REUSEADDR: %w", err)
	}
	port = address.(*syscall.SockaddrInet4).Port
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // it does not wait
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return port, s, l.Close()
}

// socket is a file descriptor.
type socket int

func (s socket) Close() error { return syscall.Close(int(s)) }
