package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

const (
	// headBuffer bounds a request's line and headers; a longer one goes to
	// net/http. Small requests fit as a whole and come with one system call.
	// Connections begin with less, since most of many thousand are idle.
	headBuffer  = 8 << 10
	firstBuffer = 1 << 10
	// headTimeout is how long a request's line and headers may take once their
	// first byte has come, bodyTimeout how long a body may stand still or come too
	// slowly. Between requests a connection may rest for ever, as with Triton.
	headTimeout = 30 * time.Second
	bodyTimeout = 2 * time.Minute
	// writeTimeout is how long a client may take to read the next writeStep bytes
	// of a reply; a quarter less, at worst. One of 3 KB/s is fast enough.
	writeTimeout = 2 * time.Minute
	writeStep    = 256 << 10
)

// conn is one connection with what it keeps between requests.
type conn struct {
	server  *Server
	nc      net.Conn
	session *session
	ctx     context.Context // ends when the client goes away
	cancel  context.CancelFunc

	buf  []byte // read but not used yet: buf[r:w]
	r, w int
	head head
	body bodyReader
	hang *watch
	// writable is when the write deadline was set. Setting it costs more than
	// looking at the clock.
	writable time.Time
	// politely: the server ends the connection, and its client may be sending.
	politely bool
}

func newConn(s *Server, nc net.Conn, at *session) *conn {
	c := &conn{server: s, nc: nc, session: at, buf: make([]byte, firstBuffer)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	at.cancelWith(c.cancel)
	c.body.c = c
	c.hang = newWatch(c)
	return c
}

// run serves requests until the connection ends or moves to net/http.
func (c *conn) run() {
	moved := false
	defer func() {
		if p := recover(); p != nil {
			c.server.api.panicked(p)
			moved = false
		}
		c.cancel()
		if !moved {
			c.session.leave(c.politely)
		}
	}()
	if !c.handshake() {
		return
	}
	for {
		switch c.next() {
		case ended:
			return
		case unusual:
			moved = c.move()
			return
		}
		if !c.exchange() {
			return
		}
	}
}

// arrival says what came over the connection.
type arrival uint8

const (
	ended arrival = iota
	request
	unusual
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
			return unusual
		}
		if c.r > 0 { // make room
			c.w = copy(c.buf, c.buf[c.r:c.w])
			c.r = 0
		}
		if c.w == len(c.buf) && !c.grow() {
			return unusual
		}
		if !timed {
			timed = true
			_ = c.nc.SetReadDeadline(time.Now().Add(headTimeout))
		}
		n, err := c.nc.Read(c.buf[c.w:])
		if n == 0 && err != nil { // one that came with bytes comes again
			return ended
		}
		c.w += n
	}
}

// skipEmptyLines passes over what old clients send behind a body.
func (c *conn) skipEmptyLines() {
	for c.r < c.w && (c.buf[c.r] == '\r' || c.buf[c.r] == '\n') {
		c.r++
	}
}

// grow makes the buffer as large as it may be; false when it is.
func (c *conn) grow() bool {
	if len(c.buf) == headBuffer {
		return false
	}
	c.buf = append(make([]byte, 0, headBuffer), c.buf...)[:headBuffer]
	return true
}

// await blocks until the first bytes of a request; false when there is none. Empty
// lines are no request: they do not keep a connection that is to end.
func (c *conn) await() bool {
	c.session.rest()
	for c.r == c.w {
		n, err := c.nc.Read(c.buf)
		for n == 0 && c.session.waits(err) {
			n, err = c.nc.Read(c.buf)
		}
		c.r, c.w = 0, n
		c.skipEmptyLines()
		if n == 0 || c.r == c.w && c.session.fades() {
			c.politely = c.session.fades()
			return false
		}
	}
	c.session.work()
	if c.w == len(c.buf) {
		c.grow() // the next one may then come as a whole
	}
	return true
}

// exchange serves one request; false when the connection is to end.
func (c *conn) exchange() bool {
	a := c.server.api
	x := a.begin()
	defer a.end(x)
	h := &c.head
	x.ctx, x.method, x.path, x.header, x.length = c.ctx, h.method, h.path, h.requestHeader, h.length
	c.body.reset(h.length)
	x.body, x.watch, x.fields, x.chunks = &c.body, c.hang, &h.lines, c
	if a.opts.Access != nil {
		x.remote = c.nc.RemoteAddr().String()
	}
	a.serve(x)
	ok := c.answer(x)
	x.finish()
	return ok
}

// answer sends what is not sent yet; false when the connection is to end.
func (c *conn) answer(x *exchange) bool {
	if x.gone {
		return false
	}
	keep := x.keep
	if !x.started {
		x.drain(c.body.left)
		keep = c.keeps()
		if c.reply(x, keep) != nil {
			return false
		}
	}
	c.politely = !keep && (!c.head.close || c.body.left > 0)
	if c.body.left > 0 {
		c.session.refuses(c.body.left-int64(c.w-c.r), c.server.pace)
	}
	return keep
}

// keeps says whether the connection lives on behind the reply.
func (c *conn) keeps() bool { return !c.head.close && c.body.left == 0 && !c.session.ends() }

// allowWrite gives the client time to read what is written next.
func (c *conn) allowWrite() {
	if now := time.Now(); now.Sub(c.writable) > writeTimeout/4 {
		c.writable = now
		_ = c.nc.SetWriteDeadline(now.Add(writeTimeout))
	}
}

// bodyReader reads the body of the request at hand.
type bodyReader struct {
	c    *conn
	left int64
	err  error // why no more comes
	progress
}

func (b *bodyReader) reset(length int64) { *b = bodyReader{c: b.c, left: length} }

func (b *bodyReader) Read(p []byte) (int, error) {
	switch {
	case b.left == 0:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	}
	p = p[:min(int64(len(p)), b.left)]
	c := b.c
	n := 0
	if c.r < c.w {
		n = copy(p, c.buf[c.r:c.w])
		c.r += n
	} else {
		n, b.err = b.receive(p)
	}
	b.left -= int64(n)
	if n > 0 { // what came with an error is part of the body
		return n, nil
	}
	return 0, b.err
}

// receive reads from the connection. The read deadline is gone when the body has
// come to its end or will not.
func (b *bodyReader) receive(p []byte) (int, error) {
	c := b.c
	b.begin(c.nc.SetReadDeadline)
	n, err := c.nc.Read(p)
	b.add(n, c.server.pace.least)
	if err != nil || int64(n) == b.left {
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, io.EOF) {
		return n, errCut
	}
	return n, c.server.pace.explain(err)
}
