package http2

import (
	"math"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"triton/pkg/h2frame"
)

// minFragments is how many frames a header list may take, and one for each KiB of a longer MaxHeaderList. Clients
// fill frames.
const minFragments = 64

// headerList is a header list that is being received.
type headerList struct {
	open      bool // its last frame has not begun, or not ended
	last      bool // its last frame has begun
	id        uint32
	end       bool // the call has no message
	block     []byte
	fragments int
	behind    int // bytes of the block before its last frame
	left      int // bytes of the frame
	pad       int // bytes behind them
}

// beginList begins the header list of a HEADERS frame.
func (c *conn) beginList(h h2frame.Head) (bool, error) {
	in := &c.in
	b := in.bytes()[h2frame.HeadLen:]
	before, pad := 0, 0
	if h.Has(http2.FlagHeadersPadded) {
		before++
	}
	if h.Has(http2.FlagHeadersPriority) {
		before += 5
	}
	switch {
	case h.ID == 0:
		return false, violation(http2.ErrCodeProtocol, "HEADERS of the connection")
	case h.Len < before:
		return false, violation(http2.ErrCodeFrameSize, "HEADERS of %d bytes", h.Len)
	case len(b) < before:
		return false, nil
	}
	if h.Has(http2.FlagHeadersPadded) {
		pad = int(b[0])
	}
	if h.Len-before < pad {
		return false, violation(http2.ErrCodeProtocol, "HEADERS is shorter than its padding")
	}
	in.r += h2frame.HeadLen + before
	in.list = headerList{
		open: true, last: h.Has(http2.FlagHeadersEndHeaders), id: h.ID, end: h.Has(http2.FlagHeadersEndStream),
		block: in.list.block[:0], left: h.Len - before - pad, pad: pad,
	}
	return true, c.addFragment()
}

// continueList adds the fragment of a CONTINUATION frame.
func (c *conn) continueList(h h2frame.Head) (bool, error) {
	l := &c.in.list
	if !l.open {
		return false, violation(http2.ErrCodeProtocol, "CONTINUATION without HEADERS")
	}
	c.in.r += h2frame.HeadLen
	l.last, l.left, l.pad, l.behind = h.Has(http2.FlagContinuationEndHeaders), h.Len, 0, len(l.block)
	return true, c.addFragment()
}

// addFragment begins a fragment within the limits.
func (c *conn) addFragment() error {
	l := &c.in.list
	limit := int64(c.opts.MaxHeaderList)
	l.fragments++
	if size := int64(len(l.block) + l.left); size > 2*limit || l.fragments > max(minFragments, int(limit/1024)) {
		c.late()
		return violation(http2.ErrCodeEnhanceYourCalm, "a header list has %d bytes in %d frames", size, l.fragments)
	}
	_, err := c.readList()
	return err
}

// readList takes what is there of a fragment.
func (c *conn) readList() (more bool, err error) {
	in := &c.in
	l := &in.list
	b := in.bytes()
	b = b[:min(len(b), l.left)]
	n := len(b)
	in.r += n
	l.left -= n
	whole := l.last && l.left == 0
	if !whole || len(l.block) > 0 {
		l.block = append(l.block, b...)
		b = l.block
	}
	if l.left > 0 {
		return n > 0, nil
	}
	in.skip, l.pad = l.pad, 0
	if !whole {
		return true, nil
	}
	l.open = false
	return true, c.decode(l.id, b, l.end)
}

// headCache has the lists of the last blocks that only refer to the table. Most clients send the same with every
// call of a method.
type headCache struct {
	entries [4]struct {
		block []byte
		head  *head
	}
	next int
}

func (h *headCache) find(block []byte) *head {
	for i := range h.entries {
		if e := &h.entries[i]; e.head != nil && string(e.block) == string(block) {
			return e.head
		}
	}
	return nil
}

func (h *headCache) add(block []byte, of *head) {
	e := &h.entries[h.next%len(h.entries)]
	e.block, e.head = append(e.block[:0], block...), of
	h.next++
}

func (h *headCache) clear() {
	for i := range h.entries {
		h.entries[i].head = nil
	}
}

// parse decodes a block. Every one is decoded, unless it means what an earlier one did, because each may change
// the table of the connection.
func (c *conn) parse(block []byte) (*head, error) {
	in := &c.in
	refers, changes := h2frame.Scan(block)
	if changes {
		in.heads.clear()
	}
	if refers {
		if known := in.heads.find(block); known != nil {
			return known, nil
		}
	}
	in.keeps, in.fields = c.opts.HTTP != nil, in.fields[:0]
	in.parsed, in.size, in.limit = &head{}, 0, int(min(int64(c.opts.MaxHeaderList), math.MaxInt32))
	in.decoder.SetEmitEnabled(true)
	_, err := in.decoder.Write(block[:in.list.behind])
	if err == nil && in.parsed.broken {
		return nil, violation(http2.ErrCodeProtocol, "CONTINUATION of a malformed header list")
	}
	if err == nil {
		_, err = in.decoder.Write(block[in.list.behind:])
	}
	if err == nil {
		err = in.decoder.Close()
	}
	if err != nil {
		return nil, violation(http2.ErrCodeCompression, "header list: %v", err)
	}
	parsed := in.parsed
	if parsed.complete(c.server); parsed.plain {
		parsed.fields = slices.Clone(in.fields)
	}
	if refers {
		in.heads.add(block, parsed)
	}
	return parsed, nil
}

// field receives a field of the list that is being decoded.
func (in *input) field(f hpack.HeaderField) {
	if in.size += int(f.Size()); in.size > in.limit {
		in.parsed.tooLong = true
	} else {
		in.parsed.add(f.Name, f.Value)
		if in.keeps {
			in.fields = append(in.fields, f)
		}
	}
	if in.parsed.tooLong || in.parsed.broken { // the rest means nothing, unless it changes the table
		in.decoder.SetEmitEnabled(false)
	}
}

// decode begins the call of a header list.
func (c *conn) decode(id uint32, block []byte, end bool) error {
	h, err := c.parse(block)
	if err != nil {
		return err
	}
	if id%2 == 0 || id <= c.lastID {
		return c.decodeAgain(id, end)
	}
	c.lastID = id
	if c.life.refuses(id) { // without an answer; the client repeats the call elsewhere
		c.over(id, false)
		return nil
	}
	if code := h.resets(); code != http2.ErrCodeNo {
		c.refuse(id, end, code)
		return nil
	}
	switch {
	case uint32(min(len(c.streams), 1<<31)) >= c.opts.MaxStreams, c.running >= maxRunning(c.opts.MaxStreams):
		c.refuse(id, end, http2.ErrCodeRefusedStream)
	case h.refused != nil:
		c.answerEarly(id, end, h)
	case h.timed && h.timeout <= 0:
		c.answerEarly(id, end, &lateHead)
	default:
		c.begin(id, h, end)
	}
	return nil
}

// maxRunning bounds the handlers that run for calls which clients have reset, too.
func maxRunning(streams uint32) int {
	if streams > 1<<20 {
		return 1 << 20
	}
	return max(2*int(streams), 16)
}

// refuse resets a call that does not begin.
func (c *conn) refuse(id uint32, end bool, code http2.ErrCode) {
	c.out = h2frame.AppendReset(c.out, id, code)
	c.over(id, end)
}

// decodeAgain handles a header list of a call that has begun.
func (c *conn) decodeAgain(id uint32, end bool) error {
	s := c.streams[id]
	switch {
	case s != nil && !s.remoteEnd && end: // trailers, which gRPC has no use for
		s.remoteEnd = true
		s.wake()
		return nil
	case s == nil && c.dropped.has(id):
		c.out = h2frame.AppendReset(c.out, id, http2.ErrCodeStreamClosed)
		return c.didNothing()
	case s == nil && end && c.cut.has(id):
		return c.didNothing()
	case s != nil && s.remoteEnd, s == nil && c.closed.has(id):
		return violation(http2.ErrCodeStreamClosed, "HEADERS of stream %d, which the client has closed", id)
	}
	return violation(http2.ErrCodeProtocol, "HEADERS with the illegal stream number %d", id)
}
