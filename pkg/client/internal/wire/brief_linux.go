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
	whole bool // the call ends when all bytes are through; the connection is locked until then
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
	c.out.whole = true
	c.in.try, c.out.try = c.in.call, c.out.call
	return c
}

// call makes the system call and reports whether it did not have to wait.
func (b *briefCall) call(fd uintptr) bool {
	for {
		n, err := b.do(fd, b.bytes, false)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err == nil && b.whole:
			b.n += n
			if b.bytes = b.bytes[n:]; n > 0 && len(b.bytes) > 0 {
				continue
			}
			return true
		case err == nil:
			b.n = n
		}
		b.err = err
		return true
	}
}

// do carries out a call with p, and names it name in an error.
func (c *briefConn) do(b *briefCall, name string, await func(func(uintptr) bool) error, p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	b.bytes, b.n, b.err = p, 0, nil
	defer func() { b.bytes = nil }()
	err := await(b.try)
	switch {
	case err != nil:
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			op.Op = name // instead of raw-read or raw-write
		}
	case b.err != nil:
		err = &net.OpError{Op: name, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(name, b.err)}
	}
	return b.n, err
}

func (c *briefConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return c.TCPConn.Read(p)
	}
	n, err := c.do(&c.in, "read", c.raw.Read, p[:min(len(p), briefBytes)])
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

func (c *briefConn) Write(p []byte) (int, error) {
	if len(p) == 0 || len(p) > briefBytes {
		return c.TCPConn.Write(p)
	}
	n, err := c.do(&c.out, "write", c.raw.Write, p)
	if n < len(p) && err == nil {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// vectored returns the connection for which net.Buffers uses one system call.
func vectored(conn net.Conn) net.Conn {
	if c, ok := conn.(*briefConn); ok {
		return c.TCPConn
	}
	return conn
}
