package rest

import (
	"triton/pkg/status"
)

// The reasons of syntax errors. Clients have matched on Triton's texts, which
// are those of its JSON library, byte offset included.
const (
	reasonEmpty        = "The document is empty."
	reasonRoot         = "The document root must not be followed by other values."
	reasonValue        = "Invalid value."
	reasonName         = "Missing a name for object member."
	reasonColon        = "Missing a colon after a name of object member."
	reasonObjectComma  = "Missing a comma or '}' after an object member."
	reasonArrayComma   = "Missing a comma or ']' after an array element."
	reasonHex          = "Incorrect hex digit after \\u escape in string."
	reasonSurrogate    = "The surrogate pair in string is invalid."
	reasonEscape       = "Invalid escape character in string."
	reasonQuote        = "Missing a closing quotation mark in string."
	reasonNumberTooBig = "Number too big to be stored in double."
	reasonFraction     = "Miss fraction part in number."
	reasonExponent     = "Miss exponent in number."
)

// maxDepth limits the nesting of the whole text, maxDataDepth that of one data
// array. The first is ours: Triton's server overflows its stack instead.
const (
	maxDepth     = 256
	maxDataDepth = 100
)

// reader is a cursor over a JSON text. A method that fails notes the reason and
// place of the syntax error and returns false; what it leaves in place of the
// cursor does not matter then.
type reader struct {
	b []byte
	i int

	reason string
	at     int
	deep   bool

	scratch []byte // the last string that had escapes
}

func (r *reader) reset(text []byte) {
	*r = reader{b: text, scratch: r.scratch[:0]}
	if len(text) >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF {
		r.i = 3
	}
}

func (r *reader) fail(reason string, at int) bool {
	r.reason, r.at = reason, at
	return false
}

// err is the client-visible form of the noted syntax error.
func (r *reader) err() *status.Error {
	if r.deep {
		return status.New(status.InvalidArg, "JSON nesting depth exceeds maximum allowed limit (%d)", maxDepth)
	}
	return status.New(status.Internal, "failed to parse the request JSON buffer: %s at %d", r.reason, r.at)
}

// peek is the byte at the cursor, 0 at the end: a zero byte ends the text.
func (r *reader) peek() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

func (r *reader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\n', '\r', '\t':
			r.i++
		default:
			return
		}
	}
}

// document checks the syntax of the whole text.
func (r *reader) document() bool {
	r.space()
	if r.peek() == 0 {
		return r.fail(reasonEmpty, r.i)
	}
	return r.skip(0) && r.end()
}

// end checks that nothing follows the root.
func (r *reader) end() bool {
	r.space()
	if r.peek() != 0 {
		return r.fail(reasonRoot, r.i)
	}
	return true
}

// skip passes over one value, checking its syntax.
func (r *reader) skip(depth int) bool {
	switch c := r.peek(); c {
	case '{':
		return r.skipObject(depth + 1)
	case '[':
		return r.skipArray(depth + 1)
	case '"':
		return r.skipString()
	case 't':
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	default:
		var n number
		return r.number(&n)
	}
}

func (r *reader) skipObject(depth int) bool {
	if !r.enter(depth) {
		return false
	}
	for first := true; ; first = false {
		name, ok := r.member(first)
		if !ok || name == nil {
			return ok
		}
		if !r.skip(depth) {
			return false
		}
	}
}

func (r *reader) skipArray(depth int) bool {
	if !r.enter(depth) {
		return false
	}
	for first := true; ; first = false {
		more, ok := r.element(first)
		if !ok || !more {
			return ok
		}
		if !r.skip(depth) {
			return false
		}
	}
}

// enter passes over the opening bracket.
func (r *reader) enter(depth int) bool {
	if depth > maxDepth {
		r.deep = true
		return false
	}
	r.i++
	return true
}

// member moves on to the value of an object's next member and returns its name,
// a loan until the next string is read; nil at the end of the object.
func (r *reader) member(first bool) (name []byte, ok bool) {
	r.space()
	switch c := r.peek(); {
	case c == '}':
		r.i++
		return nil, true
	case first:
	case c == ',':
		r.i++
		r.space()
	default:
		return nil, r.fail(reasonObjectComma, r.i)
	}
	if r.peek() != '"' {
		return nil, r.fail(reasonName, r.i)
	}
	if name, ok = r.str(); !ok {
		return nil, false
	}
	r.space()
	if r.peek() != ':' {
		return nil, r.fail(reasonColon, r.i)
	}
	r.i++
	r.space()
	return name, true
}

// element moves on to an array's next element; more is false at its end.
func (r *reader) element(first bool) (more, ok bool) {
	r.space()
	c := r.peek()
	switch {
	case c == ']':
		r.i++
		return false, true
	case first:
		return true, true
	case c == ',':
		r.i++
		r.space()
		if r.peek() == ']' {
			return false, r.fail(reasonValue, r.i)
		}
		return true, true
	}
	return false, r.fail(reasonArrayComma, r.i)
}

func (r *reader) literal(word string) bool {
	for k := range len(word) {
		if r.peek() != word[k] {
			return r.fail(reasonValue, r.i)
		}
		r.i++
	}
	return true
}

// is says whether the value at the cursor starts with c.
func (r *reader) is(c byte) bool { return r.peek() == c }
