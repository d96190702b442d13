package modelconfig

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

var simpleEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"', '?': '?',
}

// unescape decodes the escape sequence at the start of s and returns its length, 0 if
// there is none.
func unescape(b *strings.Builder, s string) int {
	if len(s) < 2 {
		return 0
	}
	if c, ok := simpleEscapes[s[1]]; ok {
		b.WriteByte(c)
		return 2
	}
	switch c := s[1]; {
	case isOctal(c):
		n := 1 + run(s[1:], 3, isOctal)
		v, _ := strconv.ParseUint(s[1:n], 8, 16)
		b.WriteByte(byte(v))
		return n
	case c == 'x' || c == 'X':
		n := run(s[2:], 2, isHex)
		if n == 0 {
			return 0
		}
		v, _ := strconv.ParseUint(s[2:2+n], 16, 8)
		b.WriteByte(byte(v))
		return 2 + n
	case c == 'u':
		return unescapeRune(b, s, 4)
	case c == 'U':
		return unescapeRune(b, s, 8)
	}
	return 0
}

// unescapeRune reads \uXXXX or \UXXXXXXXX; a surrogate pair is one character.
func unescapeRune(b *strings.Builder, s string, digits int) int {
	r, ok := hexRune(s, digits)
	if !ok {
		return 0
	}
	n := 2 + digits
	if 0xd800 <= r && r < 0xdc00 && len(s) > n+1 && s[n] == '\\' && s[n+1] == 'u' {
		low, ok := hexRune(s[n:], 4)
		if !ok || low < 0xdc00 || low >= 0xe000 {
			return 0
		}
		r, n = (r-0xd800)<<10|(low-0xdc00)+0x10000, n+6
	}
	if !utf8.ValidRune(r) {
		return 0
	}
	b.WriteRune(r)
	return n
}

func hexRune(s string, digits int) (rune, bool) {
	if len(s) < 2+digits || run(s[2:], digits, isHex) != digits {
		return 0, false
	}
	v, err := strconv.ParseInt(s[2:2+digits], 16, 64)
	return rune(v), err == nil && v <= utf8.MaxRune
}

// run returns how many of the first max bytes are in the class.
func run(s string, max int, in func(byte) bool) int {
	n := 0
	for n < len(s) && n < max && in(s[n]) {
		n++
	}
	return n
}
