package server

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"triton/pkg/status"
	"triton/server/access"
)

// reserve binds a port without listening, so that no other process gets it, and connections are refused. It fails if
// another one listens there or has reserved it. Before the service listens, it must release the port. Where there is no
// port to reserve, release does nothing.
//
// A port that has packets of a former server on their way can be bound only so that another server can do that too; of
// two that do so in the same moment, the second one fails when it listens.
func reserve(e Endpoint, name string) (release func(), err error) {
	if _, isUnix := access.UnixPath(e.Address); isUnix || e.Inherited != nil || e.Port == 0 {
		return func() {}, nil
	}
	addr, err := net.ResolveTCPAddr("tcp", e.String())
	if err != nil {
		return func() {}, nil // listen will report the error
	}
	shared := []int{unix.SO_REUSEADDR}
	if e.Reuse {
		shared = append(shared, unix.SO_REUSEPORT)
	}
	fd, err := -1, error(unix.EADDRINUSE)
	if !e.Reuse {
		fd, err = bind(addr)
	}
	if errors.Is(err, unix.EADDRINUSE) {
		fd, err = bind(addr, shared...)
	}
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, startError(name, &status.Error{Code: status.Unavailable, Msg: fmt.Sprintf("Socket '%s' already in use ", e), Cause: err})
	}
	if err != nil {
		return func() {}, nil // listen will report the error
	}
	return func() { _ = unix.Close(fd) }, nil
}

// bind returns a bound socket. With SO_REUSEADDR it permits another one at the same address while neither listens, as
// the sockets of package net do.
func bind(addr *net.TCPAddr, options ...int) (fd int, err error) {
	ip := addr.IP
	if ip == nil { // an empty address stands for all
		ip = net.IPv6unspecified
	}
	family, at := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(ip.To16())})
	if v4 := ip.To4(); v4 != nil {
		family, at = unix.AF_INET, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(v4)}
	}
	if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	for _, option := range options {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1))
	}
	if family == unix.AF_INET6 && ip.IsUnspecified() {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0))
	}
	if err == nil {
		err = unix.Bind(fd, at)
	}
	if err != nil {
		_ = unix.Close(fd)
		return 0, os.NewSyscallError("bind", err)
	}
	return fd, nil
}
