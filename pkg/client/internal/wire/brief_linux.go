package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"triton/pkg/nonblock"
)

// briefBytes is the length up to which a read or a write is brief: the kernel copies as much in
// some microseconds.
const briefBytes = 64 << 10

// briefConn is a TCP connection whose small reads and writes do not tell Go's scheduler about the
// system call. The socket does not block, so that there is nothing to tell; but in a program
// that has been idle, as a load generator is between two requests, the news wakes up the
// scheduler's watchdog thread, which costs more than the call. Waiting is left to the runtime's
// poller, as usual.
type briefConn struct {
	*net.TCPConn
	raw syscall.RawConn
	in  briefCall
	out briefCall
}

// briefCall is the state of a read or a write. A closure for each call would be an allocation.
type briefCall struct {
	sync.Mutex
	do    func(fd uintptr, b []byte, announce bool) (int, error)
	try   func(fd uintptr) bool
	bytes []byte
	n     int
	err   error
}

// Brief returns conn, or a connection that does the same with less work for each small message.
func Brief(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn
	}
	c := &briefConn{TCPConn: tcp, raw: raw}
	c.in.do, c.out.do = nonblock.Read, nonblock.Write
	c.in.try, c.out.try = c.in.call, c.out.call
	return c
}

// call makes the system call and reports whether it did not have to wait.
func (b *briefCall) call(fd uintptr) bool {
	b.n, b.err = b.do(fd, b.bytes, false)
	return !errors.Is(b.err, syscall.EAGAIN)
}

func (c *briefConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return c.TCPConn.Read(p)
	}
	b := &c.in
	b.Lock()
	defer b.Unlock()
	b.bytes = p[:min(len(p), briefBytes)]
	defer func() { b.bytes = nil }()
	switch err := c.raw.Read(b.try); {
	case err != nil:
		return 0, err
	case b.err != nil:
		return 0, c.failure("read", b.err)
	case b.n == 0:
		return 0, io.EOF
	}
	return b.n, nil
}

func (c *briefConn) Write(p []byte) (written int, err error) {
	if len(p) == 0 || len(p) > briefBytes {
		return c.TCPConn.Write(p)
	}
	b := &c.out
	b.Lock()
	defer b.Unlock()
	defer func() { b.bytes = nil }()
	for written < len(p) {
		b.bytes = p[written:]
		if err := c.raw.Write(b.try); err != nil {
			return written, err
		}
		if b.err != nil {
			return written, c.failure("write", b.err)
		}
		written += b.n
	}
	return written, nil
}

func (c *briefConn) failure(call string, err error) error {
	return &net.OpError{Op: call, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(call, err)}
}

// vectored returns the connection for which net.Buffers uses one system call.
func vectored(conn net.Conn) net.Conn {
	if c, ok := conn.(*briefConn); ok {
		return c.TCPConn
	}
	return conn
}
