package http1

import (
	"context"
	"io"
	"net"
	"time"

	"triton/pkg/nonblock"
)

const (
	// headBuffer bounds the request line and headers that the loop reads itself; longer ones
	// go to net/http. Small requests fit as a whole and arrive with one system call. A
	// connection starts with firstBuffer, since most of many thousands are idle.
	headBuffer  = 8 << 10
	firstBuffer = 1 << 10
	// headTimeout is how long the request line and headers may take once their first byte has
	// arrived. Between requests a connection may stay idle forever, as with Triton, unless
	// others need its file descriptor.
	headTimeout = 30 * time.Second
	// firstTimeout is how long a new connection may take to send its first byte. Clients that
	// connect ahead of time have a request soon.
	firstTimeout = 2 * time.Minute
	// writeTimeout is how long a client may take to read the next writeStep bytes of a reply.
	// The deadline is renewed late, so a client may get a quarter less. 3 KB/s suffice.
	writeTimeout = 2 * time.Minute
	writeStep    = 256 << 10
	// maxSkipped is the number of bytes of an unread body that are read so that the
	// connection can be reused. After a longer body the connection is closed.
	maxSkipped = 256 << 10
)

// conn is one connection and its state between requests.
type conn struct {
	server  *Server
	nc      net.Conn
	direct  io.ReadWriter // nc, for heads and short replies
	session *session
	ctx     context.Context // ends when the client disconnects
	cancel  context.CancelFunc

	buf   []byte // buf[r:w] was read and not used yet
	r, w  int
	head  head
	body  bodyReader
	watch *watch
	// deadlineSet is when the write deadline was set. It is not set before each write, because
	// that costs more than reading the clock.
	deadlineSet time.Time
	// linger: the server ends the connection while its client may be sending.
	linger bool
	used   bool // a request has begun to arrive
}

func newConn(s *Server, nc net.Conn, sess *session) *conn {
	c := &conn{server: s, nc: nc, session: sess, buf: make([]byte, firstBuffer)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	sess.cancelWith(c.cancel)
	c.direct = nc
	if direct := nonblock.New(nc); direct != nil {
		c.direct = direct
	}
	c.body.c = c
	c.watch = newWatch(c)
	return c
}

// run serves requests until the connection ends or is handed to net/http.
func (c *conn) run() {
	handedOver := false
	defer func() {
		if p := recover(); p != nil {
			c.server.core.panicked(p)
			handedOver = false
		}
		c.cancel()
		if !handedOver {
			c.session.end(c.linger)
		}
	}()
	if !c.handshake() {
		return
	}
	if c.negotiatedHTTP2() {
		handedOver = c.giveToHTTP2()
		return
	}
	for first := true; ; first = false {
		switch c.next() {
		case ended:
			return
		case forNetHTTP:
			if first && c.beginsHTTP2() {
				handedOver = c.giveToHTTP2()
				return
			}
			c.session.opened()
			handedOver = c.handOver()
			return
		}
		if first {
			c.session.opened()
		}
		if !c.answer() {
			return
		}
	}
}

// arrival is the kind of input that arrived over the connection.
type arrival uint8

const (
	ended      arrival = iota
	request            // its line and headers
	forNetHTTP         // a request that net/http has to parse
)

// next reads until the line and headers of a request are complete.
func (c *conn) next() arrival {
	c.skipEmptyLines()
	if c.r == c.w && !c.await() {
		return ended
	}
	timed := false
	for {
		switch n := c.head.parse(c.buf[c.r:c.w]); {
		case n > 0:
			c.r += n
			if timed {
				_ = c.nc.SetReadDeadline(time.Time{})
			}
			return request
		case n < 0:
			return forNetHTTP
		}
		if c.r > 0 { // make room
			c.w = copy(c.buf, c.buf[c.r:c.w])
			c.r = 0
		}
		if c.w == len(c.buf) && !c.grow() {
			return forNetHTTP
		}
		if !timed {
			timed = true
			_ = c.nc.SetReadDeadline(time.Now().Add(headTimeout))
		}
		n, err := c.direct.Read(c.buf[c.w:])
		if n == 0 && err != nil { // an error that came with bytes is returned again
			c.session.tooLate(err)
			return ended
		}
		c.w += n
	}
}

// skipEmptyLines drops the line ends that old clients send after a body.
func (c *conn) skipEmptyLines() {
	for c.r < c.w && (c.buf[c.r] == '\r' || c.buf[c.r] == '\n') {
		c.r++
	}
}

// grow enlarges the buffer to headBuffer and reports whether it was smaller.
func (c *conn) grow() bool {
	if len(c.buf) == headBuffer {
		return false
	}
	c.buf = append(make([]byte, 0, headBuffer), c.buf...)[:headBuffer]
	return true
}

// await blocks until the first bytes of a request arrive and reports whether they did.
// Empty lines are not a request: they do not keep a closing connection open.
func (c *conn) await() bool {
	c.session.markIdle()
	if !c.used {
		_ = c.session.setReadDeadline(time.Now().Add(firstTimeout))
	}
	for c.r == c.w {
		n, err := c.direct.Read(c.buf)
		for n == 0 && c.session.retries(err) {
			n, err = c.direct.Read(c.buf)
		}
		c.r, c.w = 0, n
		c.skipEmptyLines()
		if n == 0 || c.r == c.w && c.session.closingIdle() {
			c.linger = c.session.closingIdle()
			c.session.tooLate(err)
			return false
		}
	}
	c.session.markActive()
	if !c.used {
		c.used = true
		_ = c.session.setReadDeadline(time.Time{})
	}
	if c.w == len(c.buf) {
		c.grow() // the next request may then arrive as a whole
	}
	return true
}

// answer lets the handler answer one request and reports whether the connection stays
// open.
func (c *conn) answer() bool {
	c.session.use.Begin()
	defer c.session.use.End()
	core := c.server.core
	x := core.get()
	h := &c.head
	c.body.reset(h.length)
	x.Context, x.Method, x.Path, x.Query, x.Header, x.Length, x.Body, x.conn = c.ctx, h.method, h.path, h.query, h.Header, h.length, &c.body, c
	core.handler.Serve(x)
	complete, keep := x.complete, x.keep
	core.put(x)
	if !complete {
		return false
	}
	c.linger = !keep && (!h.close || c.body.left > 0)
	if c.body.left > 0 {
		c.session.expect(c.body.left-int64(c.w-c.r), core.pace)
	}
	return keep
}

// send writes a reply whose length is known.
func (c *conn) send(x *Exchange) {
	c.skipBody()
	x.keep = c.keeps()
	x.complete = c.reply(x, x.keep) == nil
}

// skipBody reads the rest of the request's body, unless it is too long.
func (c *conn) skipBody() {
	if left := c.body.left; left > 0 && left <= maxSkipped {
		_, _ = io.CopyN(io.Discard, &c.body, maxSkipped)
	}
}

// keeps reports whether the connection stays open after the reply.
func (c *conn) keeps() bool {
	return !c.head.close && c.body.left == 0 && !c.body.stopped.Load() && !c.session.leaving()
}

// renewWriteDeadline gives the client time to read the next write.
func (c *conn) renewWriteDeadline() {
	if now := time.Now(); now.Sub(c.deadlineSet) > writeTimeout/4 {
		c.deadlineSet = now
		_ = c.nc.SetWriteDeadline(now.Add(writeTimeout))
	}
}
