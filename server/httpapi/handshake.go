package httpapi

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// handshake opens an encrypted connection; false when that fails or takes too
// long. It would come with the first read otherwise, which may wait for ever.
func (c *conn) handshake() bool {
	h, ok := c.nc.(interface{ HandshakeContext(context.Context) error })
	if !ok {
		return true
	}
	_ = c.nc.SetDeadline(time.Now().Add(headTimeout))
	c.session.rest() // from here on a server that closes its idle connections ends it
	err := h.HandshakeContext(c.ctx)
	c.session.work()
	_ = c.nc.SetDeadline(time.Time{})
	return err == nil
}

// ready reports whether a connection is not encrypted or has its handshake behind
// it.
func ready(nc net.Conn) bool {
	t, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	return !ok || t.ConnectionState().HandshakeComplete
}
