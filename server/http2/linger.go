package http2

import (
	"errors"
	"io"
	"time"
)

// maxLinger bounds what a connection drops.
const maxLinger = 64 << 20

// endSocket closes the connection, or half-closes it if the client is to read what was sent last: bytes of the
// client that nobody reads would make the system drop that. The caller holds mu.
func (c *conn) endSocket(err error) {
	var f *fault
	if c.tcp == nil || !errors.As(err, &f) && !errors.Is(err, errDrained) && !errors.Is(err, errPreface) {
		_ = c.raw.Close()
		return
	}
	c.lingers = true
	if c.direct != nil { // otherwise linger ends TLS first, which may wait
		_ = c.direct.CloseWrite()
	}
	_ = c.tcp.SetDeadline(time.Now().Add(lingerTime))
}

// linger drops what the client sends until it closes the connection, or lingerTime is over.
func (c *conn) linger() {
	c.mu.Lock()
	lingers := c.lingers
	c.mu.Unlock()
	if !lingers {
		return
	}
	if half, ok := c.socket.(interface{ CloseWrite() error }); ok && c.direct == nil {
		_ = half.CloseWrite()
		_ = c.tcp.CloseWrite()
		_ = c.tcp.SetReadDeadline(time.Now().Add(lingerTime))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.tcp, maxLinger))
}
