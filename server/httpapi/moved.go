package httpapi

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// move hands the connection and what was read of it to net/http. When that has
// stopped already the request is refused.
func (c *conn) move() bool {
	_ = c.nc.SetReadDeadline(time.Time{})
	c.session.cancelWith(nil)
	m := &movedConn{Conn: c.nc, read: c.buf[c.r:c.w], session: c.session}
	select {
	case c.server.moved.ch <- m:
		return true
	case <-c.server.moved.done:
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
	ch   chan *movedConn
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

// movedConn is a connection that net/http serves, with what was read of it
// before.
type movedConn struct {
	net.Conn
	read    []byte
	session *session
	framing framing
	asked   int64 // requests that were to be answered
	last    sync.Once

	// body is how far the one that somebody reads has come. net/http waits for all
	// of what it is asked for, so that only here it shows what comes.
	body struct {
		sync.Mutex
		least int64 // 0: nobody reads
		progress
	}
}

type movedKey struct{}

// movedFrom is the connection that a request came over; nil when neither Server
// nor Standard serves it.
func movedFrom(r *http.Request) *movedConn {
	m, _ := r.Context().Value(movedKey{}).(*movedConn)
	return m
}

// vet is false when the request at hand must not be answered. It is called once
// for each.
func (c *movedConn) vet() bool {
	c.asked++
	c.body.Lock()
	c.body.progress = progress{}
	c.body.Unlock()
	return c.framing.refused.Load() != c.asked
}

func (c *movedConn) Read(p []byte) (int, error) {
	n, err := c.next(p)
	c.framing.feed(p[:n])
	return n, err
}

func (c *movedConn) next(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		c.read = c.read[n:]
		return n, nil
	}
	n, err := c.receive(p)
	for n == 0 && c.session.waits(err) {
		n, err = c.Conn.Read(p)
	}
	if n > 0 && c.session.fades() { // a request has begun
		c.session.work()
		_ = c.Conn.SetReadDeadline(time.Now().Add(headTimeout))
	}
	return n, err
}

// receive reads from the connection, of a body at its pace.
func (c *movedConn) receive(p []byte) (int, error) {
	c.body.Lock()
	if c.body.least > 0 {
		c.body.begin(c.Conn.SetReadDeadline)
	}
	c.body.Unlock()
	n, err := c.Conn.Read(p)
	c.body.Lock()
	c.body.add(n, c.body.least)
	c.body.Unlock()
	return n, err
}

// await begins to read a body, of which so many bytes must come in each period.
func (c *movedConn) await(least int64) {
	c.body.Lock()
	defer c.body.Unlock()
	c.body.least = least
	if !c.body.until.IsZero() {
		_ = c.Conn.SetReadDeadline(c.body.until)
	}
}

// awaited ends what await began. Other reads wait for ever.
func (c *movedConn) awaited() {
	c.body.Lock()
	defer c.body.Unlock()
	c.body.least = 0
	_ = c.Conn.SetReadDeadline(time.Time{})
}

// SetReadDeadline leaves the deadline of a connection that is about to be closed.
func (c *movedConn) SetReadDeadline(at time.Time) error { return c.session.setReadDeadline(at) }

// CloseWrite waits until the client has seen the end. net/http calls it when the
// client may still be sending, before Close.
func (c *movedConn) CloseWrite() error {
	c.leave()
	return nil
}

// Close ends the connection. net/http calls it from the connection's goroutine
// unless it ends all at once.
func (c *movedConn) Close() error {
	c.leave()
	return nil
}

func (c *movedConn) leave() { c.last.Do(func() { c.session.leave(true) }) }
