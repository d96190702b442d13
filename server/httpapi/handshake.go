package httpapi

import (
	"context"
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
	if !c.rest(true) { // from here on a drain wakes it
		return false
	}
	err := h.HandshakeContext(c.ctx)
	c.rest(false)
	_ = c.nc.SetDeadline(time.Time{})
	return err == nil
}
