package http1

import (
	"bytes"
	"strconv"
	"sync/atomic"
)

// framing tracks where requests begin and end in the bytes that net/http reads, to find
// requests with both Content-Length and Transfer-Encoding: net/http uses the latter and
// drops the former, while a proxy may do the opposite and see other requests (request
// smuggling).
type framing struct {
	state framed
	line  []byte // the current line: its beginning, or the end of a request line
	left  int64  // unread bytes of the body or chunk

	// Of the current head.
	begun     bool
	http10    bool // HTTP/1.0
	length    int64
	hasLength bool
	hasCoding bool
	folded    bool // the last header decides the framing, and the next line may continue it
	ambiguous bool

	heads int64 // read so far
	// refused is the number of the first head that must not be answered, from 1; 0: none.
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
	framedLost // net/http refuses the request
)

// maxFramed is the number of bytes of a line that are kept.
const maxFramed = 64

// feed consumes the next bytes.
func (f *framing) feed(p []byte) {
	for len(p) > 0 && f.state != framedLost {
		if f.state == framedBody || f.state == framedChunk {
			n := min(int64(len(p)), f.left)
			p = p[n:]
			if f.left -= n; f.left == 0 {
				f.endBody()
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
		f.endLine(bytes.TrimSuffix(f.line, []byte("\r")))
		f.line = f.line[:0]
	}
}

// endBody continues after a body or a chunk.
func (f *framing) endBody() {
	if f.state == framedChunk {
		f.state = framedChunkEnd
	} else {
		f.state = framedHead
	}
}

// keep adds to the current line.
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

// endLine reads a whole line.
func (f *framing) endLine(line []byte) {
	switch f.state {
	case framedHead:
		f.headLine(line)
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

// headLine reads a line of a head.
func (f *framing) headLine(line []byte) {
	switch {
	case len(line) == 0:
		if f.begun { // lines between requests may be empty
			f.endHead()
		}
	case !f.begun:
		f.begun, f.http10 = true, bytes.HasSuffix(line, []byte("/1.0"))
	case line[0] == ' ' || line[0] == '\t':
		f.ambiguous = f.ambiguous || f.folded
	default:
		name, value, _ := bytes.Cut(line, []byte(":"))
		f.folded = false
		switch {
		case equalFold(name, "content-length"):
			n, ok := parseLength(bytes.TrimSpace(value))
			f.ambiguous = f.ambiguous || !ok
			f.hasLength, f.length, f.folded = true, n, true
		case equalFold(name, "transfer-encoding"):
			f.hasCoding, f.folded = true, true
		}
	}
}

// endHead continues after a head.
func (f *framing) endHead() {
	f.heads++
	if f.ambiguous || f.hasCoding && (f.hasLength || f.http10) {
		f.refused.CompareAndSwap(0, f.heads)
		f.state = framedLost
		return
	}
	switch {
	case f.hasCoding:
		f.state = framedChunkSize
	case f.length > 0:
		f.state, f.left = framedBody, f.length
	}
	f.begun, f.length, f.hasLength, f.hasCoding, f.folded = false, 0, false, false, false
}

// chunk reads the size line of a chunk.
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
