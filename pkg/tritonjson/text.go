package tritonjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the bytes that need no escape in a JSON string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// plainEnd returns where the run of plain bytes at b[i:] ends.
func plainEnd(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		// hit has the top bit of each byte that is not plain. Borrows make the
		// bits above the lowest one unreliable.
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

// str is Text for a cursor at a quote.
func (r *Reader) str() ([]byte, bool) {
	start := r.at + 1
	i := plainEnd(r.text, start)
	if i < len(r.text) && r.text[i] == '"' {
		r.at = i + 1
		return r.text[start:i:i], true
	}
	r.scratch = append(r.scratch[:0], r.text[start:i]...)
	r.at = i
	var ok bool
	r.scratch, ok = r.unescape(r.scratch)
	return r.scratch, ok
}

// MeasureText skips the string at the cursor and returns its length after unescaping.
func (r *Reader) MeasureText() (int, bool) {
	r.at++
	n := 0
	for {
		start := r.at
		r.at = plainEnd(r.text, r.at)
		n += r.at - start
		if r.Peek() == '"' {
			r.at++
			return n, true
		}
		c, ok := r.escape()
		if !ok {
			return 0, false
		}
		n += runeLen(c)
	}
}

// AppendText reads the string at the cursor, unescapes it and appends it to dst.
func (r *Reader) AppendText(dst []byte) ([]byte, bool) {
	r.at++
	return r.unescape(dst)
}

// unescape unescapes the rest of a string and appends it to dst.
func (r *Reader) unescape(dst []byte) ([]byte, bool) {
	for {
		start := r.at
		r.at = plainEnd(r.text, r.at)
		dst = append(dst, r.text[start:r.at]...)
		if r.Peek() == '"' {
			r.at++
			return dst, true
		}
		c, ok := r.escape()
		if !ok {
			return dst, false
		}
		dst = appendRune(dst, c)
	}
}

// escape reads one escape sequence. Anything else at the cursor is an error.
func (r *Reader) escape() (rune, bool) {
	at := r.at
	switch c := r.Peek(); {
	case c == 0:
		return 0, r.fail(reasonQuote, r.at)
	case c != '\\':
		return 0, r.fail(reasonEscape, r.at)
	}
	r.at++
	c := r.Peek()
	r.at++
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

// unicode reads what follows \u. A high surrogate must be followed by a low one; a
// low one alone is accepted, as Triton does.
func (r *Reader) unicode(at int) (rune, bool) {
	c, ok := r.hex4(at)
	if !ok || c < 0xD800 || c > 0xDBFF {
		return c, ok
	}
	if r.at+1 >= len(r.text) || r.text[r.at] != '\\' || r.text[r.at+1] != 'u' {
		return 0, r.fail(reasonSurrogate, at)
	}
	r.at += 2
	low, ok := r.hex4(at)
	if !ok {
		return 0, false
	}
	if low < 0xDC00 || low > 0xDFFF {
		return 0, r.fail(reasonSurrogate, at)
	}
	return utf16.DecodeRune(c, low), true
}

func (r *Reader) hex4(at int) (rune, bool) {
	var v rune
	for range 4 {
		c := r.Peek()
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
		r.at++
	}
	return v, true
}

// appendRune is utf8.AppendRune, but keeps a lone surrogate in its three-byte
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
