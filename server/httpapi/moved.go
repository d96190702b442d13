package httpapi

import (
	"net"
	"sync"
	"time"
)

// move hands the connection and what was read of it to net/http. When that has
// stopped already the request is refused.
func (c *conn) move() bool {
	_ = c.nc.SetReadDeadline(time.Time{})
	m := &movedConn{Conn: c.nc, read: c.buf[c.r:c.w], server: c.server}
	c.server.elsewhere.Add(1)
	select {
	case c.server.moved.ch <- m:
		return true
	case <-c.server.moved.done:
		c.server.elsewhere.Done()
		a := c.server.api
		x := a.begin()
		defer a.end(x)
		x.fail(errExiting)
		_ = c.reply(x, false)
		return false
	}
}

// movedConns is the listener of the net/http side.
type movedConns struct {
	ch   chan net.Conn
	done chan struct{}
	once sync.Once
	addr net.Addr
}

// end lets no more connections move.
func (m *movedConns) end() { m.once.Do(func() { close(m.done) }) }

func (m *movedConns) Accept() (net.Conn, error) {
	select {
	case c := <-m.ch:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *movedConns) Close() error   { return nil }
func (m *movedConns) Addr() net.Addr { return m.addr }

// movedConn is a connection of which something was read before.
type movedConn struct {
	net.Conn
	read   []byte
	server *Server
	once   sync.Once
}

func (c *movedConn) Read(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		c.read = c.read[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *movedConn) Close() error {
	c.once.Do(func() {
		c.server.count.Add(-1)
		c.server.elsewhere.Done()
	})
	return c.Conn.Close()
}
