package http2

import (
	"encoding/binary"

	"golang.org/x/net/http2"

	"triton/pkg/h2frame"
)

// control handles a frame that is neither data nor a header list.
func (c *conn) control(h h2frame.Head, b []byte) error {
	switch h.Kind {
	case http2.FrameSettings:
		return c.settings(h, b)
	case http2.FramePing:
		return c.ping(h, b)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(h, b)
	case http2.FrameRSTStream:
		return c.reset(h, b)
	case http2.FramePriority:
		return c.priority(h, b)
	default: // GOAWAY: the client ends its calls itself
		if h.ID != 0 || len(b) < 8 {
			return violation(http2.ErrCodeProtocol, "GOAWAY of stream %d, of %d bytes", h.ID, len(b))
		}
		return c.didNothing()
	}
}

func (c *conn) settings(h h2frame.Head, b []byte) error {
	ack := h.Has(http2.FlagSettingsAck)
	switch {
	case h.ID != 0:
		return violation(http2.ErrCodeProtocol, "SETTINGS of stream %d", h.ID)
	case ack && len(b) > 0, len(b)%h2frame.SettingLen != 0:
		return violation(http2.ErrCodeFrameSize, "SETTINGS of %d bytes", len(b))
	case ack:
		return c.didNothing()
	}
	for ; len(b) > 0; b = b[h2frame.SettingLen:] {
		if err := c.set(http2.SettingID(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint32(b[2:])); err != nil {
			return err
		}
	}
	c.out = h2frame.AppendHead(c.out, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
	c.wakeSenders()
	return c.didNothing()
}

func (c *conn) set(id http2.SettingID, v uint32) error {
	switch id {
	case http2.SettingEnablePush:
		if v > 1 {
			return violation(http2.ErrCodeProtocol, "ENABLE_PUSH is %d", v)
		}
	case http2.SettingHeaderTableSize:
		c.fields.resize(v)
	case http2.SettingMaxHeaderListSize:
		c.maxList = int64(v)
	case http2.SettingMaxFrameSize:
		if v < h2frame.SmallestMax || v > h2frame.LargestMax {
			return violation(http2.ErrCodeProtocol, "MAX_FRAME_SIZE is %d", v)
		}
		c.maxFrame = int(v)
	case http2.SettingInitialWindowSize:
		if v > h2frame.MaxWindow {
			return violation(http2.ErrCodeFlowControl, "INITIAL_WINDOW_SIZE is %d", v)
		}
		for _, s := range c.streams {
			if s.window += int64(v) - c.initial; s.window > h2frame.MaxWindow {
				return violation(http2.ErrCodeFlowControl, "INITIAL_WINDOW_SIZE %d makes a window of %d", v, s.window)
			}
		}
		c.initial = int64(v)
	}
	return nil
}

func (c *conn) ping(h h2frame.Head, b []byte) error {
	switch {
	case h.ID != 0:
		return violation(http2.ErrCodeProtocol, "PING of stream %d", h.ID)
	case len(b) != 8:
		return violation(http2.ErrCodeFrameSize, "PING of %d bytes", len(b))
	}
	data := [8]byte(b)
	if h.Has(http2.FlagPingAck) {
		switch {
		case data == drainPing:
			c.drained()
		case c.life.pinging:
			return nil
		}
		return c.didNothing()
	}
	c.out = h2frame.AppendPing(c.out, http2.FlagPingAck, data)
	return c.life.pinged(len(c.streams) > 0, &c.opts.Enforcement)
}

func (c *conn) windowUpdate(h h2frame.Head, b []byte) error {
	if len(b) != 4 {
		return violation(http2.ErrCodeFrameSize, "WINDOW_UPDATE of %d bytes", len(b))
	}
	n := int64(binary.BigEndian.Uint32(b) & h2frame.MaxWindow)
	if h.ID == 0 {
		if n == 0 {
			return violation(http2.ErrCodeProtocol, "WINDOW_UPDATE by 0")
		}
		if c.window += n; c.window > h2frame.MaxWindow {
			return violation(http2.ErrCodeFlowControl, "WINDOW_UPDATE by %d to %d", n, c.window)
		}
		c.wakeSenders()
		return nil
	}
	if c.idle(h.ID) {
		return violation(http2.ErrCodeProtocol, "WINDOW_UPDATE of stream %d, which has not begun", h.ID)
	}
	s := c.streams[h.ID]
	switch {
	case n == 0 && s == nil:
		c.out = h2frame.AppendReset(c.out, h.ID, http2.ErrCodeProtocol)
		return c.didNothing()
	case n == 0:
		c.abort(s, http2.ErrCodeProtocol)
		return nil
	case s == nil:
		return c.didNothing()
	}
	if s.window += n; s.window > h2frame.MaxWindow {
		c.abort(s, http2.ErrCodeFlowControl)
		return nil
	}
	c.wakeSenders()
	return nil
}

func (c *conn) reset(h h2frame.Head, b []byte) error {
	switch {
	case len(b) != 4:
		return violation(http2.ErrCodeFrameSize, "RST_STREAM of %d bytes", len(b))
	case c.idle(h.ID):
		return violation(http2.ErrCodeProtocol, "RST_STREAM of stream %d, which has not begun", h.ID)
	}
	c.dropped.add(h.ID)
	if s := c.streams[h.ID]; s != nil {
		c.remove(s)
		s.cancel(errCanceled)
		return nil
	}
	return c.didNothing()
}

// priority ignores a frame of a scheme that HTTP/2 has given up (RFC 9113, section 5.3.2).
func (c *conn) priority(h h2frame.Head, b []byte) error {
	switch {
	case h.ID == 0:
		return violation(http2.ErrCodeProtocol, "PRIORITY of the connection")
	case len(b) != 5:
		return violation(http2.ErrCodeFrameSize, "PRIORITY of %d bytes", len(b))
	}
	return c.didNothing()
}

// abort ends a call whose client has made a mistake. The caller holds mu.
func (c *conn) abort(s *stream, code http2.ErrCode) {
	c.out = h2frame.AppendReset(c.out, s.id, code)
	c.remove(s)
	s.cancel(errCanceled)
}

// over remembers a call that has ended, after its client's last frame or before.
func (c *conn) over(id uint32, remoteEnd bool) {
	if remoteEnd {
		c.closed.add(id)
	} else {
		c.cut.add(id)
	}
}

// remove forgets a call that has ended, and ends the connection after the last one if it drains. The caller
// holds mu.
func (c *conn) remove(s *stream) {
	if c.streams[s.id] != s {
		return
	}
	delete(c.streams, s.id)
	c.over(s.id, s.remoteEnd)
	c.life.ended(c)
}
