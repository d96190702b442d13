package rest

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// plainEnd is where the run of plain bytes at b[i:] ends.
func plainEnd(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		// The top bit of each byte that is not plain; right up to the lowest of
		// them.
		if hit := ((quote-ones)&^quote | (slash-ones)&^slash | (x-0x20*ones)&^x) & tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return i
}

// str reads the string at the cursor. The result is a view on the text or, when
// the string has escapes, on scratch memory that the next string overwrites.
func (r *reader) str() ([]byte, bool) {
	start := r.i + 1
	i := plainEnd(r.b, start)
	if i < len(r.b) && r.b[i] == '"' {
		r.i = i + 1
		return r.b[start:i:i], true
	}
	r.scratch = append(r.scratch[:0], r.b[start:i]...)
	r.i = i
	var ok bool
	r.scratch, ok = r.unescape(r.scratch)
	return r.scratch, ok
}

// skipString passes over the string at the cursor.
func (r *reader) skipString() bool {
	_, ok := r.measureString()
	return ok
}

// measureString passes over the string at the cursor and returns its length
// without escapes.
func (r *reader) measureString() (int, bool) {
	r.i++
	n := 0
	for {
		start := r.i
		r.i = plainEnd(r.b, r.i)
		n += r.i - start
		if r.peek() == '"' {
			r.i++
			return n, true
		}
		c, ok := r.escape()
		if !ok {
			return 0, false
		}
		n += runeLen(c)
	}
}

// appendString reads the string at the cursor to the end of dst.
func (r *reader) appendString(dst []byte) ([]byte, bool) {
	r.i++
	return r.unescape(dst)
}

// unescape reads the rest of a string to the end of dst.
func (r *reader) unescape(dst []byte) ([]byte, bool) {
	for {
		start := r.i
		r.i = plainEnd(r.b, r.i)
		dst = append(dst, r.b[start:r.i]...)
		if r.peek() == '"' {
			r.i++
			return dst, true
		}
		c, ok := r.escape()
		if !ok {
			return dst, false
		}
		dst = appendRune(dst, c)
	}
}

// escape reads one escape sequence; anything else at the cursor is an error.
func (r *reader) escape() (rune, bool) {
	at := r.i
	switch c := r.peek(); {
	case c == 0:
		return 0, r.fail(reasonQuote, r.i)
	case c != '\\':
		return 0, r.fail(reasonEscape, r.i)
	}
	r.i++
	c := r.peek()
	r.i++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return r.unicode(at)
	}
	return 0, r.fail(reasonEscape, at)
}

// unicode reads what follows \u; a high surrogate must be one half of a pair. A
// low one alone passes, as in Triton.
func (r *reader) unicode(at int) (rune, bool) {
	c, ok := r.hex4(at)
	if !ok || c < 0xD800 || c > 0xDBFF {
		return c, ok
	}
	if r.i+1 >= len(r.b) || r.b[r.i] != '\\' || r.b[r.i+1] != 'u' {
		return 0, r.fail(reasonSurrogate, at)
	}
	r.i += 2
	low, ok := r.hex4(at)
	if !ok {
		return 0, false
	}
	if low < 0xDC00 || low > 0xDFFF {
		return 0, r.fail(reasonSurrogate, at)
	}
	return utf16.DecodeRune(c, low), true
}

func (r *reader) hex4(at int) (rune, bool) {
	var v rune
	for range 4 {
		c := r.peek()
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, r.fail(reasonHex, at)
		}
		v = v<<4 | rune(c)
		r.i++
	}
	return v, true
}

// appendRune is utf8.AppendRune that keeps a lone surrogate in its three-byte
// form.
func appendRune(dst []byte, c rune) []byte {
	if c >= 0xD800 && c <= 0xDFFF {
		return append(dst, 0xE0|byte(c>>12), 0x80|byte(c>>6)&0x3F, 0x80|byte(c)&0x3F)
	}
	return utf8.AppendRune(dst, c)
}

func runeLen(c rune) int {
	if c >= 0xD800 && c <= 0xDFFF {
		return 3
	}
	return utf8.RuneLen(c)
}
