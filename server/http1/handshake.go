package http1

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// handshake opens an encrypted connection and reports whether that succeeded in time.
// Otherwise the first read would do it, which has no time limit.
func (c *conn) handshake() bool {
	h, ok := c.nc.(interface{ HandshakeContext(context.Context) error })
	if !ok {
		return true
	}
	_ = c.nc.SetDeadline(time.Now().Add(headTimeout))
	c.session.markIdle() // a server that closes its idle connections ends the handshake too
	err := h.HandshakeContext(c.ctx)
	c.session.tooLate(err)
	c.session.markActive()
	_ = c.nc.SetDeadline(time.Time{})
	return err == nil
}

// ready reports whether a connection is not encrypted or has completed its handshake.
func ready(nc net.Conn) bool {
	t, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	return !ok || t.ConnectionState().HandshakeComplete
}

// TLSState returns the state of the TLS connection that nc is, or that lies below it; nil: there is none.
func TLSState(nc net.Conn) *tls.ConnectionState {
	for {
		switch c := nc.(type) {
		case interface{ ConnectionState() tls.ConnectionState }:
			state := c.ConnectionState()
			return &state
		case interface{ NetConn() net.Conn }:
			nc = c.NetConn()
		default:
			return nil
		}
	}
}
