package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// serve answers every request with the same bytes, over HTTP on one port and gRPC on another. It
// is one loop over epoll without goroutines: it takes about as little CPU time as a server can,
// so that the client is the limit.
func serve() error {
	runtime.LockOSThread()
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	s := &server{poll: poll, conns: map[int32]*conn{}, listeners: map[int32]func() protocol{}, buffer: make([]byte, 256<<10)}
	for _, p := range []struct {
		name string
		new  func() protocol
	}{{"http", newHTTP}, {"grpc", newHTTP2}} {
		port, err := s.listen(p.new)
		if err != nil {
			return err
		}
		fmt.Printf("%s 127.0.0.1:%d\n", p.name, port)
	}
	events := make([]unix.EpollEvent, 256)
	for {
		n, err := unix.EpollWait(poll, events, -1)
		if err != nil && err != unix.EINTR { //nolint:errorlint // a system call
			return err
		}
		for _, e := range events[:max(n, 0)] {
			s.ready(e.Fd)
		}
	}
}

// protocol turns the bytes of a connection into responses. It appends them to out.
type protocol interface {
	receive(in, out []byte) (response []byte, ok bool)
}

type server struct {
	poll      int
	listeners map[int32]func() protocol
	conns     map[int32]*conn
	buffer    []byte
	out       []byte
}

type conn struct {
	protocol
}

func (s *server) listen(protocol func() protocol) (port int, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	if err := unix.Listen(fd, 1024); err != nil {
		return 0, err
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	s.listeners[int32(fd)] = protocol
	return at.(*unix.SockaddrInet4).Port, s.watch(fd)
}

func (s *server) watch(fd int) error {
	return unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (s *server) ready(fd int32) {
	if protocol := s.listeners[fd]; protocol != nil {
		n, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		_ = unix.SetsockoptInt(n, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		s.conns[int32(n)] = &conn{protocol: protocol()}
		_ = s.watch(n)
		return
	}
	c := s.conns[fd]
	n, err := unix.Read(int(fd), s.buffer)
	if err != nil || n <= 0 {
		s.drop(fd)
		return
	}
	out, ok := c.receive(s.buffer[:n], s.out[:0])
	s.out = out
	for len(out) > 0 { // the socket blocks: the client reads what it asked for
		n, err := unix.Write(int(fd), out)
		if err != nil {
			ok = false
			break
		}
		out = out[n:]
	}
	if !ok {
		s.drop(fd)
	}
}

func (s *server) drop(fd int32) {
	delete(s.conns, fd)
	_ = unix.Close(int(fd))
}
