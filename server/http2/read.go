package http2

import (
	"io"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"triton/pkg/h2frame"
)

const (
	// maxSmall bounds the frames that are handled as a whole, which have no data or header list.
	maxSmall = h2frame.SmallestMax
	// maxIdleFrames bounds the frames one after the other that do nothing for a call.
	maxIdleFrames = 10_000
)

// input is what was read and not handled. Only the goroutine that reads uses it.
type input struct {
	buf     *[]byte // of the pool; nil: nothing was read
	r, w    int     // unhandled bytes are buf[r:w]
	data    dataFrame
	list    headerList
	skip    int // bytes of a frame that means nothing
	idle    int // frames that did nothing
	decoder *hpack.Decoder
	parsed  *head // the list that is being decoded
	keeps   bool  // its fields, too
	fields  []hpack.HeaderField
	size    int // of it
	limit   int
	heads   headCache
}

func (in *input) bytes() []byte {
	if in.buf == nil {
		return nil
	}
	return (*in.buf)[in.r:in.w]
}

// head returns the head of the next frame if it is there.
func (in *input) head() (h2frame.Head, bool) { return h2frame.ReadHead(in.bytes()) }

// fill reads more. The buffer has room for a whole frame that is handled as such.
func (c *conn) fill() error {
	in := &c.in
	if in.buf != nil && in.r == in.w {
		c.opts.Buffers.Put(in.buf)
		in.buf, in.r, in.w = nil, 0, 0
	}
	if in.buf == nil {
		if ready, ok := c.socket.(readyConn); ok {
			b, n, err := ready.ReadOnReady(c.opts.ReadBuffer, c.opts.Buffers)
			if err != nil {
				return err
			}
			in.buf, in.r, in.w = b, 0, n
			return nil
		}
		in.buf = c.opts.Buffers.Get(c.opts.ReadBuffer)
	}
	b := *in.buf
	if len(b)-in.r < h2frame.HeadLen+maxSmall {
		in.w, in.r = copy(b, b[in.r:in.w]), 0
	}
	n, err := c.socket.Read(b[in.w:])
	in.w += n
	switch {
	case n > 0:
		return nil
	case err == nil:
		return io.ErrNoProgress
	}
	return err
}

// read handles frames until the connection ends. It returns false if another goroutine reads now.
func (c *conn) read() (ends bool) {
	for {
		err := c.frames()
		if !c.startCalls() {
			return false
		}
		if err == nil {
			err = c.fill()
		}
		if err != nil {
			c.close(err)
			break
		}
		c.life.read()
	}
	if c.in.buf != nil {
		c.opts.Buffers.Put(c.in.buf)
		c.in.buf = nil
	}
	return true
}

// frames handles the frames that were read, and sends what they require.
func (c *conn) frames() (err error) {
	defer func() {
		if p := recover(); p != nil { // the calls have begun
			c.startReady()
			panic(p)
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	progress := false // since the last call: more than a part of a header list
	for more := true; more && err == nil && c.err == nil; {
		more, err = c.frame()
		progress = progress || more && !c.in.list.open
	}
	if err == nil && c.err == nil {
		c.returnWindow()
		if len(c.out) > maxControl {
			err = violation(http2.ErrCodeEnhanceYourCalm, "it sends frames that need an answer, and does not read the answers")
		}
	}
	if err != nil {
		c.fail(err)
	}
	c.life.frame(c, c.in.list.open || c.in.r < c.in.w, progress)
	c.flush(false)
	return c.err
}

// startReady starts the calls that frames have begun.
func (c *conn) startReady() {
	for i, s := range c.ready {
		c.ready[i] = nil
		c.server.run(s)
	}
	c.ready = c.ready[:0]
}

// frame handles the next frame, or what is there of one with data or a header list, and reports whether
// something was there.
func (c *conn) frame() (more bool, err error) {
	in := &c.in
	switch {
	case in.data.open:
		return c.readData(), nil
	case in.list.left > 0:
		return c.readList()
	case in.skip > 0:
		n := min(in.skip, in.w-in.r)
		in.r, in.skip = in.r+n, in.skip-n
		return n > 0, nil
	}
	h, ok := in.head()
	switch {
	case !ok:
		return false, nil
	case h.Len > c.opts.MaxFrame:
		return false, violation(http2.ErrCodeFrameSize, "a frame has %d bytes", h.Len)
	case in.list.open && (h.Kind != http2.FrameContinuation || h.ID != in.list.id):
		return false, violation(http2.ErrCodeProtocol, "%v within a header list", h.Kind)
	}
	switch h.Kind {
	case http2.FrameData:
		return c.beginData(h)
	case http2.FrameHeaders:
		return c.beginList(h)
	case http2.FrameContinuation:
		return c.continueList(h)
	case http2.FramePushPromise:
		return false, violation(http2.ErrCodeProtocol, "PUSH_PROMISE of a client")
	case http2.FrameSettings, http2.FramePing, http2.FrameWindowUpdate, http2.FrameRSTStream, http2.FramePriority, http2.FrameGoAway:
		if h.Len > maxSmall {
			return false, violation(http2.ErrCodeFrameSize, "%v of %d bytes", h.Kind, h.Len)
		}
		if in.w-in.r < h2frame.HeadLen+h.Len {
			return false, nil
		}
		payload := in.bytes()[h2frame.HeadLen:][:h.Len]
		in.r += h2frame.HeadLen + h.Len
		return true, c.control(h, payload)
	}
	in.r, in.skip = in.r+h2frame.HeadLen, h.Len // frames of unknown types mean nothing
	return true, c.didNothing()
}

// didNothing counts a frame that does nothing for a call. The error ends a connection that has only such.
func (c *conn) didNothing() error {
	if c.in.idle++; c.in.idle > maxIdleFrames {
		return violation(http2.ErrCodeEnhanceYourCalm, "%d frames one after the other do nothing", c.in.idle)
	}
	return nil
}

// idle reports whether a call with the number has not begun.
func (c *conn) idle(id uint32) bool { return id%2 == 0 || id > c.lastID }

// recent remembers calls that have ended.
type recent struct {
	ids  [32]uint32
	next int
}

func (r *recent) add(id uint32) {
	r.ids[r.next%len(r.ids)] = id
	r.next++
}

func (r *recent) has(id uint32) bool {
	for _, known := range r.ids {
		if known == id {
			return true
		}
	}
	return false
}
