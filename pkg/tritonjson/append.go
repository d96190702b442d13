package tritonjson

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// AppendString appends s to dst as a JSON string, as Triton writes it: quotes,
// backslashes and control characters are escaped, the digits of \u are upper
// case, and all else stays as it is, bytes that are not UTF-8 included.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if plain[c] {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// AppendValid is AppendString for texts whose readers expect valid JSON: each byte
// that is not part of a UTF-8 character becomes U+FFFD.
func AppendValid(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return AppendString(dst, s)
}

// AppendFloat appends f to dst as a number that reads back as f: with a decimal
// point where at most 21 digits precede it or 5 zeros follow it, else with an
// exponent.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if math.Signbit(f) {
		dst = append(dst, '-')
		f = -f
	}
	if f == 0 {
		return append(dst, "0.0"...)
	}
	var buf [24]byte
	digits, exp := shortest(buf[:0], f)
	return layout(dst, digits, exp)
}

// layout appends the number digits * 10^exp.
func layout(dst, digits []byte, exp int) []byte {
	point := len(digits) + exp // digits before the decimal point
	switch {
	case point > 21 || point <= -6:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(dst, '.')
			dst = append(dst, digits[1:]...)
		}
		dst = append(dst, 'e')
		return strconv.AppendInt(dst, int64(point-1), 10)
	case point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, "00000"[:-point]...)
		return append(dst, digits...)
	case exp >= 0:
		dst = append(dst, digits...)
		for range exp {
			dst = append(dst, '0')
		}
		return append(dst, ".0"...)
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}
