package h2

import (
	"io"

	"golang.org/x/net/http2"

	"triton/pkg/h2frame"
)

const readBuffer = 64 << 10

// input is what was read and not handled. Only the reading goroutine uses it.
type input struct {
	src    io.Reader
	buf    []byte
	r, w   int // unhandled bytes are buf[r:w]
	data   data
	list   list
	fields fields
}

// data is the DATA frame that is being received. Its payload is handled as it comes.
type data struct {
	id   uint32
	left int // bytes of the message
	pad  int // bytes behind them
	end  bool
	busy bool
}

// header returns the header of the next frame if it is there.
func (in *input) header() (h2frame.Head, bool) { return h2frame.ReadHead(in.buf[in.r:in.w]) }

// fill reads more. The buffer has room for a whole frame.
func (in *input) fill() error {
	if in.r == in.w {
		in.r, in.w = 0, 0
	} else if len(in.buf)-in.r < h2frame.HeadLen+h2frame.SmallestMax {
		in.w, in.r = copy(in.buf, in.buf[in.r:in.w]), 0
	}
	n, err := in.src.Read(in.buf[in.w:])
	in.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// read handles frames until the connection ends.
func (c *Conn) read() {
	for {
		err := c.in.fill()
		if err != nil {
			c.mu.Lock()
			c.fail(&lostError{"error reading from server: ", err})
			c.mu.Unlock()
			return
		}
		if err := c.frames(); err != nil {
			return
		}
	}
}

// frames handles the frames that were read, and sends what they require.
func (c *Conn) frames() error {
	c.mu.Lock()
	c.awaited = 0
	var err error
	for more := true; more && err == nil && c.err == nil; {
		more, err = c.frame()
	}
	if err == nil && c.err == nil && len(c.out) > maxControl {
		err = violation(http2.ErrCodeEnhanceYourCalm, "it sends frames that need an answer, and does not read the answers")
	}
	if err != nil {
		c.violated(err)
	}
	err = c.err
	c.flush()
	return err
}

// frame handles the next frame, or a part of one with data, and reports whether it was there.
func (c *Conn) frame() (more bool, err error) {
	in := &c.in
	if in.data.busy {
		return c.readData()
	}
	h, ok := in.header()
	switch {
	case !ok:
		return false, nil
	case h.Len > h2frame.SmallestMax:
		return false, violation(http2.ErrCodeFrameSize, "a frame has %d bytes", h.Len)
	case in.list.open && (h.Kind != http2.FrameContinuation || h.ID != in.list.id):
		return false, violation(http2.ErrCodeProtocol, "%v within a header list", h.Kind)
	case h.Kind == http2.FrameData:
		return c.beginData(h)
	case in.w-in.r < h2frame.HeadLen+h.Len:
		return false, nil
	}
	payload := in.buf[in.r+h2frame.HeadLen : in.r+h2frame.HeadLen+h.Len]
	in.r += h2frame.HeadLen + h.Len
	return true, c.handle(h, payload)
}

func (c *Conn) handle(h h2frame.Head, b []byte) error {
	switch h.Kind {
	case http2.FrameHeaders:
		return c.beginList(h, b)
	case http2.FrameContinuation:
		return c.continueList(h, b)
	case http2.FrameSettings:
		return c.settings(h, b)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(h, b)
	case http2.FramePing:
		return c.ping(h, b)
	case http2.FrameRSTStream:
		return c.reset(h, b)
	case http2.FrameGoAway:
		return c.goAway(h, b)
	case http2.FramePushPromise:
		return violation(http2.ErrCodeProtocol, "PUSH_PROMISE, which the client has disabled")
	case http2.FramePriority:
		if h.Len != 5 {
			return violation(http2.ErrCodeFrameSize, "PRIORITY of %d bytes", h.Len)
		}
	}
	return nil // frames of unknown types mean nothing
}

// idle reports whether a call with the number has not begun.
func (c *Conn) idle(id uint32) bool { return id%2 == 0 || id >= c.nextID }
