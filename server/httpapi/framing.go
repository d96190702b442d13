package httpapi

import (
	"bytes"
	"strconv"
	"sync/atomic"
)

// framing follows where requests begin and end in what net/http reads, to find
// those that have both Content-Length and Transfer-Encoding: net/http obeys the
// latter and forgets the former, while another reader on the way may do the
// opposite and see other requests (request smuggling).
type framing struct {
	state framed
	line  []byte // the one at hand: its beginning, of a request's first line its end
	left  int64  // bytes of the body or chunk

	// Of the head at hand.
	begun     bool
	old       bool // HTTP/1.0
	length    int64
	hasLength bool
	coding    bool
	folded    bool // the last header decides on the framing, and a next line may continue it
	doubtful  bool

	heads int64 // that have been read
	// refused is the first head that must not be answered, counted from 1; 0: none.
	refused atomic.Int64
}

type framed uint8

const (
	framedHead framed = iota
	framedBody
	framedChunkSize
	framedChunk
	framedChunkEnd
	framedTrailer
	framedLost // net/http refuses what has come
)

// maxFramed is how much of a line is kept.
const maxFramed = 64

// feed follows the next bytes.
func (f *framing) feed(p []byte) {
	for len(p) > 0 && f.state != framedLost {
		if f.state == framedBody || f.state == framedChunk {
			n := min(int64(len(p)), f.left)
			p = p[n:]
			if f.left -= n; f.left == 0 {
				f.passed()
			}
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			f.keep(p)
			return
		}
		f.keep(p[:end])
		p = p[end+1:]
		f.ended(bytes.TrimSuffix(f.line, []byte("\r")))
		f.line = f.line[:0]
	}
}

// passed goes on behind a body or a chunk.
func (f *framing) passed() {
	if f.state == framedChunk {
		f.state = framedChunkEnd
	} else {
		f.state = framedHead
	}
}

// keep adds to the line.
func (f *framing) keep(p []byte) {
	if f.state != framedHead || f.begun {
		f.line = append(f.line, p[:min(len(p), maxFramed-len(f.line))]...)
		return
	}
	p = p[max(0, len(p)-maxFramed):]
	if over := len(f.line) + len(p) - maxFramed; over > 0 {
		f.line = f.line[:copy(f.line, f.line[over:])]
	}
	f.line = append(f.line, p...)
}

// ended reads a whole line.
func (f *framing) ended(line []byte) {
	switch f.state {
	case framedHead:
		f.header(line)
	case framedChunkSize:
		f.chunk(line)
	case framedChunkEnd:
		f.state = framedChunkSize
	case framedTrailer:
		if len(line) == 0 {
			f.state = framedHead
		}
	}
}

// header reads a line of a head.
func (f *framing) header(line []byte) {
	switch {
	case len(line) == 0:
		if f.begun { // lines between requests may be empty
			f.head()
		}
	case !f.begun:
		f.begun, f.old = true, bytes.HasSuffix(line, []byte("/1.0"))
	case line[0] == ' ' || line[0] == '\t':
		f.doubtful = f.doubtful || f.folded
	default:
		name, value, _ := bytes.Cut(line, []byte(":"))
		f.folded = false
		switch {
		case is(name, "content-length"):
			n, ok := parseLength(bytes.TrimSpace(value))
			f.doubtful = f.doubtful || !ok
			f.hasLength, f.length, f.folded = true, n, true
		case is(name, "transfer-encoding"):
			f.coding, f.folded = true, true
		}
	}
}

// head goes on behind a head.
func (f *framing) head() {
	f.heads++
	if f.doubtful || f.coding && (f.hasLength || f.old) {
		f.refused.CompareAndSwap(0, f.heads)
		f.state = framedLost
		return
	}
	switch {
	case f.coding:
		f.state = framedChunkSize
	case f.length > 0:
		f.state, f.left = framedBody, f.length
	}
	f.begun, f.length, f.hasLength, f.coding, f.folded = false, 0, false, false, false
}

// chunk reads the line in front of a chunk.
func (f *framing) chunk(line []byte) {
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 64)
	switch {
	case err != nil || n < 0:
		f.state = framedLost
	case n == 0:
		f.state = framedTrailer
	default:
		f.state, f.left = framedChunk, n
	}
}
