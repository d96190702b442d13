package http1

import (
	"bytes"
	"net"
	"time"

	"triton/server/connlimit"
)

// HTTP2Conn is a connection whose client speaks HTTP/2: it has said so in the handshake of TLS, or by its first bytes.
// Whoever gets it closes Conn and Use.
type HTTP2Conn struct {
	net.Conn        // after the handshake of TLS
	First    []byte // bytes of the client that were read
	Use      *connlimit.Conn
}

// preface is how a client that speaks HTTP/2 begins, up to where no request of HTTP/1 could.
var preface = []byte("PRI * HTTP/2.0\r\n\r\n")

// negotiatedHTTP2 reports whether the handshake of TLS chose HTTP/2.
func (c *conn) negotiatedHTTP2() bool {
	if c.server.http2 == nil {
		return false
	}
	state := TLSState(c.nc)
	return state != nil && state.NegotiatedProtocol == "h2"
}

// beginsHTTP2 reports whether what was read is the beginning of HTTP/2.
func (c *conn) beginsHTTP2() bool {
	return c.server.http2 != nil && bytes.HasPrefix(c.buf[c.r:c.w], preface)
}

// giveToHTTP2 gives the connection away, with what was read, unless the server has closed it. It reports whether it did.
func (c *conn) giveToHTTP2() bool {
	c.session.markIdle()
	if !c.session.sessions.forget(c.session) {
		return false
	}
	_ = c.nc.SetDeadline(time.Time{})
	c.server.http2(HTTP2Conn{Conn: c.nc, First: c.buf[c.r:c.w], Use: c.session.use})
	c.session.opened() // last: a drain counts it in one place or the other
	return true
}
