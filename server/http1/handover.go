package http1

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const exitingText = `{"error":"Server exiting"}`

// handOver hands the connection and the bytes that were read from it to net/http, and reports
// whether it did. If net/http has already stopped, the request is refused.
func (c *conn) handOver() bool {
	_ = c.nc.SetReadDeadline(time.Time{})
	c.session.cancelWith(nil)
	m := &netHTTPConn{Conn: c.nc, read: c.buf[c.r:c.w], session: c.session}
	select {
	case c.server.netHTTPListener.ch <- m:
		return true
	case <-c.server.netHTTPListener.done:
		x := c.server.core.get()
		defer c.server.core.put(x)
		x.Status, x.Text = http.StatusServiceUnavailable, append(x.Text[:0], exitingText...)
		_ = c.reply(x, false)
		return false
	}
}

// netHTTPListener is the listener of the net/http server: it accepts the connections that are
// handed over.
type netHTTPListener struct {
	ch   chan *netHTTPConn
	done chan struct{}
	once sync.Once
	addr net.Addr
}

// end stops further connections from being handed over.
func (l *netHTTPListener) end() { l.once.Do(func() { close(l.done) }) }

func (l *netHTTPListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ch:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *netHTTPListener) Close() error   { return nil }
func (l *netHTTPListener) Addr() net.Addr { return l.addr }

// netHTTPConn is a connection that net/http serves, with the bytes that were read from it
// before.
type netHTTPConn struct {
	net.Conn
	read    []byte
	session *session
	framing framing
	heads   int64 // calls of validFraming
	last    sync.Once

	// body is the progress of the body that is being read. net/http returns only when all
	// requested bytes have been read, so progress is visible only here.
	body struct {
		sync.Mutex
		minBytes int64 // 0: no body is being read
		stopped  bool  // no more of the body is to be read
		progress
	}
}

type netHTTPConnKey struct{}

// netHTTPConnOf returns the connection of a request; nil when no Server serves it.
func netHTTPConnOf(r *http.Request) *netHTTPConn {
	m, _ := r.Context().Value(netHTTPConnKey{}).(*netHTTPConn)
	return m
}

// validFraming reports whether the framing of the current request is unambiguous, so that it
// may be answered. It is called once for each request.
func (c *netHTTPConn) validFraming() bool {
	c.heads++
	c.body.Lock()
	c.body.progress, c.body.stopped = progress{}, false
	c.body.Unlock()
	return c.framing.refused.Load() != c.heads
}

func (c *netHTTPConn) Read(p []byte) (int, error) {
	n, err := c.next(p)
	c.framing.feed(p[:n])
	return n, err
}

func (c *netHTTPConn) next(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		c.read = c.read[n:]
		return n, nil
	}
	n, err := c.receive(p)
	for n == 0 && c.session.retries(err) {
		n, err = c.Conn.Read(p)
	}
	if n > 0 && c.session.closingIdle() { // a request has begun
		c.session.markActive()
		_ = c.Conn.SetReadDeadline(time.Now().Add(headTimeout))
	}
	return n, err
}

// receive reads from the connection; a body must arrive at the minimum rate.
func (c *netHTTPConn) receive(p []byte) (int, error) {
	c.body.Lock()
	if c.body.minBytes > 0 {
		c.body.startPeriod(c.Conn.SetReadDeadline)
	}
	stopped := c.body.stopped
	c.body.Unlock()
	if stopped {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.Conn.Read(p)
	c.body.Lock()
	c.body.add(n, c.body.minBytes)
	c.body.Unlock()
	return n, err
}

// beginBody starts to read a body, of which minBytes must arrive in each period.
func (c *netHTTPConn) beginBody(minBytes int64) {
	c.body.Lock()
	defer c.body.Unlock()
	c.body.minBytes = minBytes
	if !c.body.until.IsZero() {
		_ = c.Conn.SetReadDeadline(c.body.until)
	}
}

// stopBody ends the wait for more of the body.
func (c *netHTTPConn) stopBody() {
	c.body.Lock()
	defer c.body.Unlock()
	c.body.stopped = true
	_ = c.Conn.SetReadDeadline(longAgo)
}

// endBody ends what beginBody began. Other reads wait forever.
func (c *netHTTPConn) endBody() {
	c.body.Lock()
	defer c.body.Unlock()
	c.body.minBytes = 0
	_ = c.Conn.SetReadDeadline(time.Time{})
}

// SetReadDeadline keeps the deadline of a connection that is about to be closed.
func (c *netHTTPConn) SetReadDeadline(at time.Time) error { return c.session.setReadDeadline(at) }

// CloseWrite waits until the client has seen the end. net/http calls it before Close when the
// client may still be sending.
func (c *netHTTPConn) CloseWrite() error {
	c.end()
	return nil
}

// Close ends the connection. net/http calls it from the connection's goroutine unless it closes
// all connections at once.
func (c *netHTTPConn) Close() error {
	c.end()
	return nil
}

func (c *netHTTPConn) end() { c.last.Do(func() { c.session.end(true) }) }
