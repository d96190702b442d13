package http2

import (
	"golang.org/x/net/http2"

	"triton/pkg/h2frame"
)

// dataFrame is the DATA frame that is being received. Its payload is taken as it comes.
type dataFrame struct {
	open bool
	to   *stream // nil: it is dropped
	left int     // bytes of messages
	pad  int     // bytes behind them
	end  bool
}

// beginData begins a DATA frame.
func (c *conn) beginData(h h2frame.Head) (bool, error) {
	in := &c.in
	b := in.bytes()[h2frame.HeadLen:]
	before, pad := 0, 0
	if h.Has(http2.FlagDataPadded) {
		if h.Len == 0 {
			return false, violation(http2.ErrCodeFrameSize, "padded DATA of 0 bytes")
		}
		if len(b) == 0 {
			return false, nil
		}
		before, pad = 1, int(b[0])
	}
	switch {
	case h.ID == 0:
		return false, violation(http2.ErrCodeProtocol, "DATA of the connection")
	case h.Len < before+pad:
		return false, violation(http2.ErrCodeProtocol, "DATA is shorter than its padding")
	case c.idle(h.ID):
		return false, violation(http2.ErrCodeProtocol, "DATA of stream %d, which has not begun", h.ID)
	case int64(h.Len) > c.receives:
		return false, violation(http2.ErrCodeFlowControl, "DATA of %d bytes, the window of the connection has %d", h.Len, c.receives)
	}
	// The window of the connection does not wait for handlers: those of its calls do, so that one call that is not
	// read does not stop the others.
	c.receives -= int64(h.Len)
	c.unacked += int64(h.Len)
	in.r += h2frame.HeadLen + before
	in.data = dataFrame{open: true, left: h.Len - before - pad, pad: pad, end: h.Has(http2.FlagDataEndStream)}
	if h.Len == before+pad && !in.data.end {
		if err := c.didNothing(); err != nil {
			return false, err
		}
	}
	s := c.streams[h.ID]
	switch {
	case s == nil:
		if c.closed.has(h.ID) || c.dropped.has(h.ID) {
			c.out = h2frame.AppendReset(c.out, h.ID, http2.ErrCodeStreamClosed)
		}
	case s.remoteEnd:
		c.abort(s, http2.ErrCodeStreamClosed)
	case int64(h.Len) > s.receives:
		c.abort(s, http2.ErrCodeFlowControl)
	default:
		s.receives -= int64(h.Len)
		s.consume(before + pad)
		in.data.to = s
	}
	c.readData()
	return true, nil
}

// readData takes what is there of the payload, and reports whether there may be more.
func (c *conn) readData() bool {
	in := &c.in
	d := &in.data
	b := in.bytes()
	b = b[:min(len(b), d.left)]
	in.r += len(b)
	d.left -= len(b)
	s := d.to
	if s != nil && s.over {
		s, d.to = nil, nil
	}
	if s != nil && len(b) > 0 {
		in.idle = 0
		s.receive(b, d.left)
	}
	if d.left > 0 {
		return false
	}
	d.open, d.to, in.skip = false, nil, d.pad
	if d.end && s != nil {
		s.remoteEnd = true
		s.wake()
	}
	return true
}

// returnWindow lets the client send as much again as it has sent, a quarter of the window at a time.
func (c *conn) returnWindow() {
	if c.unacked >= int64(c.opts.ConnWindow)/4 {
		c.out = h2frame.AppendWindowUpdate(c.out, 0, int(c.unacked))
		c.receives += c.unacked
		c.unacked = 0
	}
}
