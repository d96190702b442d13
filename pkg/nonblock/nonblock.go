// Package nonblock reads and writes connections and pipes with system calls that Go's scheduler is
// not told of. They never wait, so it has nothing to do meanwhile. An announced system call wakes
// the scheduler's monitor thread if the process was idle before, and a call that is interrupted by
// other processes costs the caller its place: a server that answers one short request after the
// other spends a quarter of its time on that.
//
// The monitor also interrupts goroutines that compute for long, and only if it is awake. So it is told
// of some calls of long messages: Conn.Read announces the calls after one that filled its buffer,
// and Conn.Write those of more than Large bytes that its Announcer chooses. Who reads long messages
// otherwise, or computes for long after short ones, calls Announce before it begins.
package nonblock

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Large is the number of bytes above which a write is a part of a long message.
const Large = 16 << 10

// Conn reads and writes a connection or a pipe. One goroutine at a time may read, and one may
// write. Deadlines and Close are those of the connection.
type Conn struct {
	raw      syscall.RawConn
	in, out  operation
	long     bool      // the last read filled its buffer
	announce Announcer // of writes
}

// operation is a read or a write that runs.
type operation struct {
	rest []byte // not read or written yet
	n    int
	err  error
	try  func(fd uintptr) bool // made once, because each call would allocate it
	once func(fd uintptr) bool // of writes: try, without waiting
}

// New returns a Conn of a TCP connection or of a file that does not block, such as a pipe of
// os.Pipe. It returns nil for everything else, such as a TLS connection or a pipe that blocks: a
// call that waits unannounced stops the whole process at the next garbage collection.
func New(of any) *Conn {
	var raw syscall.RawConn
	var err error
	switch of := of.(type) {
	case *net.TCPConn:
		raw, err = of.SyscallConn()
	case *os.File:
		raw, err = of.SyscallConn()
	}
	if raw == nil || err != nil || blocks(raw) {
		return nil
	}
	c := &Conn{raw: raw}
	c.in.try, c.out.try, c.out.once = c.tryRead, c.tryWrite, c.tryOnce
	return c
}

// Read implements io.Reader.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	o := &c.in
	o.rest = b
	err := c.raw.Read(o.try)
	n, failed := o.n, o.err
	o.rest, o.n, o.err = nil, 0, nil
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, os.NewSyscallError("read", failed)
	case n == 0:
		return 0, io.EOF
	}
	c.long = n == len(b)
	return n, nil
}

func (c *Conn) tryRead(fd uintptr) bool {
	o := &c.in
	o.n, o.err = Read(fd, o.rest, c.long)
	return !errors.Is(o.err, syscall.EAGAIN)
}

// Write implements io.Writer.
func (c *Conn) Write(b []byte) (int, error) {
	o := &c.out
	o.rest = b
	err := c.raw.Write(o.try)
	n, failed := len(b)-len(o.rest), o.err
	o.rest, o.err = nil, nil
	if err == nil && failed != nil {
		err = os.NewSyscallError("write", failed)
	}
	return n, err
}

func (c *Conn) tryWrite(fd uintptr) bool {
	o := &c.out
	announce := len(o.rest) > Large && c.announce.Call(len(o.rest))
	for len(o.rest) > 0 {
		n, err := Write(fd, o.rest, announce)
		if err != nil {
			o.err = err
			if errors.Is(err, syscall.EAGAIN) {
				o.err = nil
				return false
			}
			return true
		}
		o.rest = o.rest[n:]
	}
	return true
}

// TryWrite writes as much as the system takes without waiting.
func (c *Conn) TryWrite(b []byte) (int, error) {
	o := &c.out
	o.rest = b
	err := c.raw.Write(o.once)
	n, failed := len(b)-len(o.rest), o.err
	o.rest, o.err = nil, nil
	if err == nil && failed != nil {
		err = os.NewSyscallError("write", failed)
	}
	return n, err
}

func (c *Conn) tryOnce(fd uintptr) bool {
	c.tryWrite(fd)
	return true
}

// Read reads from a descriptor that does not block, announced or not. The error is a
// syscall.Errno, such as EAGAIN.
func Read(fd uintptr, b []byte, announce bool) (int, error) {
	if announce {
		return announcedRead(fd, b)
	}
	return quietRead(fd, b)
}

// Write writes to a descriptor that does not block, announced or not. The error is a
// syscall.Errno, such as EAGAIN.
func Write(fd uintptr, b []byte, announce bool) (int, error) {
	if announce {
		return announcedWrite(fd, b)
	}
	return quietWrite(fd, b)
}
