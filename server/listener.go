package server

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// countingListener knows how many of its connections are open.
type countingListener struct {
	net.Listener
	open atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return &countedConn{Conn: c, open: &l.open}, nil
}

type countedConn struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

// SyscallConn lets gRPC wait for data without holding a buffer for it.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// lastCall is a listener that, when closed, first accepts the connections that
// the system has already taken for it: closing at once would reset them.
type lastCall struct {
	net.Listener
	closing atomic.Bool
}

// lastCallTime is how long a closing listener waits for such connections.
const lastCallTime = 10 * time.Millisecond

func (l *lastCall) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && l.closing.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, errors.Join(net.ErrClosed, l.Listener.Close())
	}
	return c, err
}

// Close begins the end; Accept closes the listener when nobody comes any more.
func (l *lastCall) Close() error {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	if ok && !l.closing.Swap(true) && d.SetDeadline(time.Now().Add(lastCallTime)) == nil {
		return nil
	}
	return l.Listener.Close()
}
