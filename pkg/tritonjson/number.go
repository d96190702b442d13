package tritonjson

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// number is a JSON number as read. Its value is mant * 10^exp when exact reports
// that mant holds all digits, else it is the text[start:end].
type number struct {
	mant       uint64
	exp        int
	start, end int
	neg        bool
	integer    bool // no fraction, no exponent
	exact      bool
	special    bool // NaN or infinite; value holds it
	value      float64
}

// number reads the number at the cursor. Anything else there is an error.
func (r *Reader) number(n *number) bool {
	b, i := r.text, r.at
	*n = number{start: i, integer: true, exact: true}
	if i < len(b) && b[i] == '-' {
		n.neg = true
		i++
	}
	if i >= len(b) || b[i]-'0' > 9 {
		r.at = i
		return r.notANumber(n)
	}
	var mant uint64
	first, count := i, 0
	if b[i] == '0' {
		i++
	} else {
		mant, i = digits(b, i, 0)
		count = i - first
	}
	if i < len(b) && b[i] == '.' {
		i++
		from := i
		if count == 0 {
			for i < len(b) && b[i] == '0' {
				i++
			}
			first = i
		}
		zeros := i
		mant, i = digits(b, i, mant)
		if i == from {
			return r.fail(reasonFraction, i)
		}
		n.integer = false
		n.exp = from - i
		count += i - zeros
	}
	n.mant = mant
	// Nineteen digits always fit. Twenty may when they begin with a 1: those
	// that overflow then wrap below 10^19.
	n.exact = count <= 19 || count == 20 && b[first] == '1' && mant >= 1e19
	r.at = i
	if i < len(b) && b[i]|0x20 == 'e' && !r.exponent(n) {
		return false
	}
	n.end = r.at
	if n.exp > 289 || count > 300 {
		return r.checkSize(n)
	}
	return true
}

// digits appends the decimal digits at b[i:] to mant, eight at a time where
// possible, and returns where they end. mant overflows silently.
func digits(b []byte, i int, mant uint64) (uint64, int) {
	for i+8 <= len(b) {
		v, n := eightDigits(b[i:])
		mant = mant*tens[n] + v
		i += n
		if n < 8 {
			return mant, i
		}
	}
	for i < len(b) && b[i]-'0' <= 9 {
		mant = mant*10 + uint64(b[i]-'0')
		i++
	}
	return mant, i
}

// eightDigits reads up to eight decimal digits without a branch for each of them, and
// returns their value and number. b must have eight bytes.
func eightDigits(b []byte) (v uint64, n int) {
	x := binary.LittleEndian.Uint64(b) ^ 0x3030303030303030
	// other has the top bit of each byte that is not a digit. Carries make the bits above
	// the lowest one unreliable.
	other := (x + 0x7676767676767676 | x) & 0x8080808080808080
	n = bits.TrailingZeros64(other) >> 3
	x <<= uint(64 - 8*n)
	x = x*10 + x>>8
	return ((x&0x000000FF000000FF)*0x000F424000000064 + (x>>16&0x000000FF000000FF)*0x0000271000000001) >> 32, n
}

func (r *Reader) exponent(n *number) bool {
	r.at++
	neg := false
	switch r.Peek() {
	case '-':
		neg = true
		r.at++
	case '+':
		r.at++
	}
	e, from := 0, r.at
	for r.at < len(r.text) && r.text[r.at]-'0' <= 9 {
		e = min(e*10+int(r.text[r.at]-'0'), 1<<30)
		r.at++
	}
	if r.at == from {
		return r.fail(reasonExponent, r.at)
	}
	n.integer = false
	if neg {
		n.exp -= e
		return true
	}
	if e > 308-max(n.exp, -17) {
		return r.fail(reasonNumberTooBig, n.start)
	}
	n.exp += e
	return true
}

// checkSize refuses numbers that float64 cannot hold.
func (r *Reader) checkSize(n *number) bool {
	if math.IsInf(n.float64(r.text), 0) {
		return r.fail(reasonNumberTooBig, n.start)
	}
	return true
}

// notANumber reads NaN, Inf and Infinity, which Triton accepts.
func (r *Reader) notANumber(n *number) bool {
	n.special, n.integer = true, false
	switch r.Peek() {
	case 'N':
		n.value = math.NaN()
		return r.literal("NaN")
	case 'I':
		n.value = math.Inf(1)
		if n.neg {
			n.value = math.Inf(-1)
		}
		if !r.literal("Inf") {
			return false
		}
		return r.Peek() != 'i' || r.literal("inity")
	}
	return r.fail(reasonValue, r.at)
}

// signed returns the value as int64. It reports false if the number is not an integer or
// does not fit.
func (n *number) signed() (int64, bool) {
	ok := n.integer && n.exact
	if n.neg {
		return -int64(n.mant), ok && n.mant <= 1<<63
	}
	return int64(n.mant), ok && n.mant <= math.MaxInt64
}
