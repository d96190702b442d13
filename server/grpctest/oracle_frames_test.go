package grpctest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// choices are the decisions of a generator, made from the bytes of a fuzz input. When the bytes are
// used up every decision is 0, so each prefix of an input is an input too.
type choices struct{ data []byte }

// below returns a number below n, which is at most 256.
func (c *choices) below(n int) int {
	if len(c.data) == 0 || n < 2 {
		return 0
	}
	v := int(c.data[0]) % n
	c.data = c.data[1:]
	return v
}

// oneIn decides yes once in n.
func (c *choices) oneIn(n int) bool { return c.below(n) == n-1 }

// of returns one of the values.
func of[T any](c *choices, values ...T) T { return values[c.below(len(values))] }

// frame is a frame of HTTP/2 as it is sent.
type frame struct {
	kind    http2.FrameType
	flags   http2.Flags
	stream  uint32
	payload []byte
	glued   bool // the next frame follows without a pause
}

// bytes returns the frame in the form of the wire.
func (f frame) bytes() []byte {
	n := len(f.payload)
	b := []byte{byte(n >> 16), byte(n >> 8), byte(n), byte(f.kind), byte(f.flags)}
	return append(binary.BigEndian.AppendUint32(b, f.stream), f.payload...)
}

// String describes the frame for a report.
func (f frame) String() string {
	p := f.payload
	more := ""
	if len(p) > 48 {
		p, more = p[:48], "..."
	}
	if f.glued {
		more += " +"
	}
	return fmt.Sprintf("%v flags %#x stream %d, %d bytes: %q%s", f.kind, f.flags, f.stream, len(f.payload), p, more)
}

// script is a sequence of frames that one client sends over one connection.
type script struct {
	choices

	frames  []frame
	next    uint32          // the next stream
	open    []uint32        // streams that the client has not ended
	held    map[uint32]bool // streams whose handlers read nothing and do not return
	bad     map[uint32]bool // streams whose headers have a mistake
	mutated bool

	block   bytes.Buffer
	encoder *hpack.Encoder
}

// newScript makes a script from the bytes of a fuzz input.
func newScript(data []byte) *script {
	s := &script{choices: choices{data}, next: 1, held: map[uint32]bool{}, bad: map[uint32]bool{}}
	s.encoder = hpack.NewEncoder(&s.block)
	if !s.oneIn(16) {
		s.add(http2.FrameSettings, 0, 0, nil)
	}
	for range 1 + s.below(12) {
		s.action()
	}
	if s.mutated = s.oneIn(4) && len(s.frames) > 0; s.mutated {
		s.mutate(&s.frames[s.below(len(s.frames))])
	}
	s.removeTolerated()
	return s
}

// removeTolerated removes the frames that the oracle takes although they are connection errors (RFC 9113, 5.1 and 8.4):
// those of streams that have not begun, PUSH_PROMISE, and too large windows and other illegal values of settings. h2spec
// has them. DATA of a call that its client has ended is ignored if that was by a reset, or if the handler has returned,
// even though the response waits for a window, where RFC 9113, 5.1, has an error, which h2spec tests.
func (s *script) removeTolerated() {
	last := uint32(0)
	ended, reset := map[uint32]bool{}, map[uint32]bool{}
	kept := s.frames[:0]
	lists := hpack.NewDecoder(4096, nil)
	for i, f := range s.frames {
		idle := f.stream%2 == 0 || f.stream > last
		if f.kind == http2.FrameWindowUpdate && len(f.payload) == 4 && f.payload[0]&0x7f >= 0x40 {
			continue // it makes a window beyond 2^31-1
		}
		if f.kind == http2.FrameWindowUpdate && f.stream == 0 && len(f.payload) == 4 && binary.BigEndian.Uint32(f.payload) < 1<<16 {
			continue // which of the responses that wait gets the bytes is left open
		}
		switch f.kind {
		case http2.FramePushPromise:
			continue
		case http2.FrameSettings:
			if illegalSettings(f.payload) {
				continue
			}
		case http2.FrameData, http2.FrameWindowUpdate, http2.FrameRSTStream:
			if idle && f.stream != 0 || f.kind == http2.FrameData && (reset[f.stream] || ended[f.stream] && !s.held[f.stream]) {
				continue
			}
		case http2.FrameHeaders:
			// A list with a number that is not new ends the script: the oracle closes the connection a second later, and
			// handlers see what comes meanwhile. It closes the connection where RFC 9113 does not, too: for the trailers
			// of a client (8.1), also of a call that the server has answered meanwhile, and of one that the client has
			// reset (5.1). It lets a stream begin again whose list was malformed, and resets an even one whose list is
			// (5.1.1 has a connection error).
			forbidden := s.forbiddenList(lists, i)
			switch trailers := f.flags&http2.FlagHeadersEndStream != 0; {
			case !idle && (trailers || s.bad[f.stream] || reset[f.stream]), s.mutated && (!idle || f.stream%2 == 0), paddedTooLong(f), forbidden:
				s.frames = withoutOpenList(kept)
				return
			case !idle || f.stream%2 == 0:
				s.frames = withoutOpenList(append(kept, s.frames[i:s.endOfList(i)]...))
				return
			}
			last = f.stream
		}
		if f.kind == http2.FrameRSTStream && len(f.payload) == 4 {
			reset[f.stream] = true
		}
		if reset[f.stream] || f.flags&http2.FlagDataEndStream != 0 && (f.kind == http2.FrameData || f.kind == http2.FrameHeaders) {
			ended[f.stream] = true
		}
		kept = append(kept, f)
	}
	s.frames = withoutOpenList(kept)
}

// withoutOpenList removes a header list that does not end: a server may decode the beginning at once, or not.
func withoutOpenList(all []frame) []frame {
	open := -1
	for i, f := range all {
		switch {
		case f.kind == http2.FrameHeaders && f.flags&http2.FlagHeadersEndHeaders == 0:
			open = i
		case f.kind != http2.FrameContinuation || f.flags&http2.FlagHeadersEndHeaders != 0:
			open = -1
		}
	}
	if open < 0 {
		return all
	}
	return all[:open]
}

// illegalSettings reports whether there is a value that RFC 9113, 6.5.2, forbids, and that the oracle does not look at.
func illegalSettings(p []byte) bool {
	for ; len(p) >= 6; p = p[6:] {
		v := binary.BigEndian.Uint32(p[2:])
		switch http2.SettingID(binary.BigEndian.Uint16(p)) {
		case http2.SettingEnablePush:
			if v > 1 {
				return true
			}
		case http2.SettingMaxFrameSize:
			if v < 1<<14 || v > 1<<24-1 {
				return true
			}
		}
	}
	return false
}

// paddedTooLong reports whether headers are shorter than their padding, after which the oracle goes on with a table of
// headers that may be wrong.
func paddedTooLong(f frame) bool {
	n := len(f.payload) - 1
	if f.flags&http2.FlagHeadersPriority != 0 {
		n -= 5
	}
	return f.flags&http2.FlagHeadersPadded != 0 && n >= 0 && n < int(f.payload[0])
}

// forbiddenList reports whether the list that begins at i is one that the oracle takes, and RFC 9113 does not: without
// :method, :scheme or :path (8.3.1), or with another te than trailers (8.2.2). A list that a mutation has cut may become
// one when the frame in between is removed.
func (s *script) forbiddenList(lists *hpack.Decoder, i int) bool {
	if s.mutated && s.frames[s.endOfList(i)-1].flags&http2.FlagHeadersEndHeaders == 0 {
		return true
	}
	b := s.frames[i].payload
	if s.frames[i].flags&http2.FlagHeadersPadded != 0 && len(b) > 0 {
		b = b[1:max(len(b)-int(b[0]), 1)]
	}
	if s.frames[i].flags&http2.FlagHeadersPriority != 0 {
		b = b[min(len(b), 5):]
	}
	b = bytes.Clone(b)
	for _, f := range s.frames[i+1 : s.endOfList(i)] {
		b = append(b, f.payload...)
	}
	fields, err := lists.DecodeFull(b)
	seen := map[string]bool{}
	for _, f := range fields {
		if f.Name == "te" && f.Value != "trailers" {
			return true
		}
		seen[f.Name] = f.Value != "" || f.Name == ":scheme"
	}
	return err == nil && (!seen[":method"] || !seen[":scheme"] || !seen[":path"])
}

// endOfList returns the place behind the header list that begins at i.
func (s *script) endOfList(i int) int {
	for i < len(s.frames)-1 && s.frames[i].flags&http2.FlagHeadersEndHeaders == 0 && s.frames[i+1].kind == http2.FrameContinuation {
		i++
	}
	return i + 1
}

// String describes the script for a report.
func (s *script) String() string {
	var b strings.Builder
	for _, f := range s.frames {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func (s *script) add(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) {
	s.frames = append(s.frames, frame{kind: kind, flags: flags, stream: stream, payload: payload})
}

// action adds the frames of one action. Half of them are calls.
func (s *script) action() {
	switch s.below(24) {
	default:
		s.call()
	case 10, 11:
		s.begin(s.method())
	case 12, 13:
		if id := s.stream(); id != 0 {
			s.data(id, s.message(), s.oneIn(4))
		}
	case 14:
		if id := s.stream(); id != 0 {
			s.data(id, nil, true)
		}
	case 15:
		s.add(http2.FrameRSTStream, 0, s.anyStream(), s.number(of[uint32](&s.choices, 8, 0, 5, 7, 255)))
	case 16:
		s.add(http2.FramePing, http2.Flags(of(&s.choices, 0, 0, 0, 1, 8)), of[uint32](&s.choices, 0, 0, 0, 1), make([]byte, of(&s.choices, 8, 8, 8, 7, 0)))
	case 17:
		s.settings()
	case 18:
		s.add(http2.FrameWindowUpdate, 0, s.anyStream(), s.number(of[uint32](&s.choices, 1, 1000, 1<<20, 0, 1<<31-1, 1<<31)))
	case 19:
		id := s.anyStream()
		s.add(http2.FramePriority, 0, id, append(s.number(of(&s.choices, 0, 1, id, 1<<31|3)), byte(s.below(256)))[:of(&s.choices, 5, 5, 5, 4)])
	case 20:
		s.add(of[http2.FrameType](&s.choices, 0xb, 0xff, http2.FramePushPromise, http2.FrameContinuation), http2.Flags(s.below(256)), s.anyStream(), make([]byte, s.below(30)))
	case 21:
		s.badHeaders()
	case 22:
		s.badMessage()
	case 23:
		s.add(http2.FrameGoAway, 0, of[uint32](&s.choices, 0, 0, 1), append(s.number(0), s.number(0)...))
	}
}

// mutate changes one field of a frame.
func (s *script) mutate(f *frame) {
	switch s.below(5) {
	case 0:
		f.flags ^= 1 << s.below(8)
	case 1:
		f.kind = http2.FrameType(s.below(11))
	case 2:
		f.stream = s.anyStream()
	case 3:
		if len(f.payload) > 0 {
			f.payload = f.payload[:s.below(min(len(f.payload), 256))]
		}
	case 4:
		if len(f.payload) > 0 {
			f.payload = bytes.Clone(f.payload)
			f.payload[s.below(min(len(f.payload), 256))] ^= 1 << s.below(8)
		}
	}
	for i := range s.frames { // an error beside other frames of one write may come first or last
		s.frames[i].glued = false
	}
}

func (s *script) number(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// stream returns a stream that the client has not ended, or 0.
func (s *script) stream() uint32 {
	if len(s.open) == 0 {
		return 0
	}
	return s.open[s.below(len(s.open))]
}

// anyStream returns a stream that is open, ended, idle, the server's, or the connection.
func (s *script) anyStream() uint32 {
	switch s.below(8) {
	case 0:
		return 0
	case 1:
		return s.next
	case 2:
		return 2
	case 3:
		return 1
	}
	return s.stream()
}

func (s *script) settings() {
	one := func(id uint16, v uint32) []byte {
		return append(binary.BigEndian.AppendUint16(nil, id), s.number(v)...)
	}
	flags := http2.Flags(0)
	var p []byte
	switch s.below(10) {
	case 0:
		p = one(4, of[uint32](&s.choices, 0, 1, 10, 65535, 100_000))
	case 1:
		p = one(4, 1<<31)
	case 2:
		p = one(5, of[uint32](&s.choices, 16384, 20000, 1<<24-1))
	case 3:
		p = one(5, of[uint32](&s.choices, 16383, 1<<24))
	case 4:
		p = one(1, of[uint32](&s.choices, 0, 100, 4096, 1<<20))
	case 5:
		p = one(2, of[uint32](&s.choices, 0, 1, 2))
	case 6:
		p = append(one(6, 100), one(99, 1)...)
	case 7:
		p = one(3, uint32(s.below(3)))[:5]
	case 8:
		flags = 1
		p = make([]byte, of(&s.choices, 0, 0, 6))
	}
	s.add(http2.FrameSettings, flags, of[uint32](&s.choices, 0, 0, 0, 0, 0, 0, 0, 1), p)
}
