//go:build unix

package server

import (
	"errors"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"

	"triton/pkg/nonblock"
)

// readyReader reads a connection when data is available, and takes a buffer only then. One
// goroutine reads a connection.
type readyReader struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once, because each read would allocate it

	size int
	pool mem.BufferPool
	buf  *[]byte
	n    int
	err  error
	long bool // the last read filled its buffer

	announce nonblock.Announcer // of the reads after such
}

// newReadyReader returns nil for connections that are not sockets of the system.
func newReadyReader(c net.Conn) *readyReader {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	r := &readyReader{raw: raw}
	r.try = r.tryRead
	return r
}

// read returns a buffer of the pool and the number of bytes in it; no buffer after an
// error.
func (r *readyReader) read(size int, pool mem.BufferPool) (*[]byte, int, error) {
	r.size, r.pool = size, pool
	err := r.raw.Read(r.try)
	buf, n := r.buf, r.n
	if err == nil {
		err = r.err
	}
	r.pool, r.buf, r.err = nil, nil, nil
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		if buf != nil {
			pool.Put(buf)
		}
		return nil, 0, err
	}
	return buf, n, nil
}

// tryRead reads once. It returns false if there is nothing to read yet.
func (r *readyReader) tryRead(fd uintptr) bool {
	r.buf = r.pool.Get(r.size)
	if r.n, r.err = nonblock.Read(fd, *r.buf, r.long && r.announce.Call(r.size)); r.err == nil {
		r.long = r.n == len(*r.buf)
		return true
	}
	r.pool.Put(r.buf)
	r.buf = nil
	return !errors.Is(r.err, syscall.EAGAIN)
}
