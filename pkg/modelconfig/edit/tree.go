package edit

import (
	"fmt"
	"strings"
)

// maxDepth bounds the nesting of messages; the schema needs 7.
const maxDepth = 64

// field is one "name: value" of the text. Offsets are in bytes.
type field struct {
	name           string
	start, nameEnd int
	end            int  // after the value and its separator
	list           bool // the values are in brackets
	values         []value
}

// value is a scalar or a message.
type value struct {
	start, end int
	text       string // as written
	message    bool
	close      int // of the closing sign of a message
	fields     []field
}

// reader builds the tree of a text. It knows no schema and checks only that signs and strings are
// closed.
type reader struct {
	src string
	off int
	err error
}

func read(src string) ([]field, error) {
	r := &reader{src: src}
	fields := r.fields("", 0)
	return fields, r.err
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		line := 1 + strings.Count(r.src[:min(r.off, len(r.src))], "\n")
		r.err = fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
	}
	r.off = len(r.src)
}

// peek skips blanks and comments and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	for r.off < len(r.src) {
		switch c := r.src[r.off]; c {
		case ' ', '\t', '\r', '\n', '\v', '\f':
			r.off++
		case '#':
			end := strings.IndexByte(r.src[r.off:], '\n')
			if end < 0 {
				end = len(r.src) - r.off
			}
			r.off += end
		default:
			return c
		}
	}
	return 0
}

// accept consumes the next sign if it is one of those.
func (r *reader) accept(signs string) bool {
	if c := r.peek(); c == 0 || strings.IndexByte(signs, c) < 0 {
		return false
	}
	r.off++
	return true
}

// fields reads to the closing sign, which it leaves, or to the end of the text.
func (r *reader) fields(closing string, depth int) []field {
	var list []field
	if depth > maxDepth {
		r.fail("messages are nested too deep")
	}
	for r.err == nil {
		c := r.peek()
		if c == 0 || strings.IndexByte(closing, c) >= 0 {
			return list
		}
		list = append(list, r.field(depth))
	}
	return list
}

func (r *reader) field(depth int) field {
	f := field{start: r.off}
	r.word()
	f.name, f.nameEnd = r.src[f.start:r.off], r.off
	if f.name == "" {
		r.fail("expected the name of a field")
		return f
	}
	r.accept(":")
	if r.accept("[") {
		f.list = true
		for r.err == nil && !r.accept("]") {
			f.values = append(f.values, r.value(depth))
			r.accept(",")
		}
		f.end = r.off
	} else {
		v := r.value(depth)
		f.values, f.end = []value{v}, v.end
	}
	if r.accept(";,") {
		f.end = r.off
	}
	return f
}

func (r *reader) value(depth int) value {
	c := r.peek()
	v := value{start: r.off}
	switch c {
	case '{', '<':
		v.message = true
		r.off++
		closing := map[byte]string{'{': "}", '<': ">"}[c]
		v.fields = r.fields(closing, depth+1)
		v.close = r.off
		if !r.accept(closing) {
			r.fail("a message is not closed")
		}
		v.end = r.off
	case '"', '\'':
		for ; r.err == nil && (c == '"' || c == '\''); c = r.peek() { // adjacent strings are one
			r.quoted(c)
			v.end = r.off
		}
	default:
		r.accept("-")
		r.peek()
		at := r.off
		r.word()
		if r.off == at {
			r.fail("expected a value")
		}
		v.end = r.off
	}
	if r.err == nil {
		v.text = r.src[v.start:v.end]
	}
	return v
}

func (r *reader) quoted(quote byte) {
	for r.off++; r.off < len(r.src); r.off++ {
		switch r.src[r.off] {
		case quote:
			r.off++
			return
		case '\\':
			r.off++
		case '\n':
			r.fail("a string is not closed")
			return
		}
	}
	r.fail("a string is not closed")
}

// word reads a name or a number.
func (r *reader) word() {
	for r.off < len(r.src) {
		c := r.src[r.off]
		number := c == '.' || (c == '+' || c == '-') && r.off > 0 && (r.src[r.off-1] == 'e' || r.src[r.off-1] == 'E')
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && !number && (c < '0' || c > '9') {
			return
		}
		r.off++
	}
}
