package rest

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
)

// number is a JSON number as read: the value mant * 10^exp, when exact says that
// mant holds all digits, else the text b[start:end].
type number struct {
	mant       uint64
	exp        int
	start, end int
	neg        bool
	integer    bool // no fraction, no exponent
	exact      bool
	special    bool // NaN or infinite: value holds it
	value      float64
}

// number reads the number at the cursor; anything else there is an error.
func (r *reader) number(n *number) bool {
	b, i := r.b, r.i
	*n = number{start: i, integer: true, exact: true}
	if i < len(b) && b[i] == '-' {
		n.neg = true
		i++
	}
	if i >= len(b) || b[i]-'0' > 9 {
		r.i = i
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
	r.i = i
	if i < len(b) && b[i]|0x20 == 'e' && !r.exponent(n) {
		return false
	}
	n.end = r.i
	if n.exp > 289 || count > 300 {
		return r.checkSize(n)
	}
	return true
}

// digits reads decimal digits at b[i:] into mant, eight at a time while it can,
// and returns where they end. mant overflows silently.
func digits(b []byte, i int, mant uint64) (uint64, int) {
	for i+8 <= len(b) {
		v, n := eight(b[i:])
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

// eight reads up to eight decimal digits without a branch for each. b has eight
// bytes at least.
func eight(b []byte) (v uint64, n int) {
	x := binary.LittleEndian.Uint64(b) ^ 0x3030303030303030
	// The top bit of each byte that is no digit; right up to the lowest of them.
	other := (x + 0x7676767676767676 | x) & 0x8080808080808080
	n = bits.TrailingZeros64(other) >> 3
	x <<= uint(64 - 8*n)
	x = x*10 + x>>8
	return ((x&0x000000FF000000FF)*0x000F424000000064 + (x>>16&0x000000FF000000FF)*0x0000271000000001) >> 32, n
}

func (r *reader) exponent(n *number) bool {
	r.i++
	neg := false
	switch r.peek() {
	case '-':
		neg = true
		r.i++
	case '+':
		r.i++
	}
	e, from := 0, r.i
	for r.i < len(r.b) && r.b[r.i]-'0' <= 9 {
		e = min(e*10+int(r.b[r.i]-'0'), 1<<30)
		r.i++
	}
	if r.i == from {
		return r.fail(reasonExponent, r.i)
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

func (r *reader) checkSize(n *number) bool {
	if math.IsInf(n.float(r.b), 0) {
		return r.fail(reasonNumberTooBig, n.start)
	}
	return true
}

// notANumber reads NaN, Inf and Infinity, which Triton takes.
func (r *reader) notANumber(n *number) bool {
	n.special, n.integer = true, false
	switch r.peek() {
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
		return r.peek() != 'i' || r.literal("inity")
	}
	return r.fail(reasonValue, r.i)
}

var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// float is the correctly rounded value. (Triton's own reader may be some units
// in the last place off.)
func (n *number) float(b []byte) float64 {
	if n.special {
		return n.value
	}
	// Below 2^53 and with a power of ten that is itself exact, one operation
	// rounds once.
	if n.exact && n.mant>>53 == 0 && uint(n.exp+22) <= 44 {
		return n.scaled()
	}
	return n.slow(b)
}

// float32 is float rounded once more.
func (n *number) float32(b []byte) float32 {
	if n.special {
		return float32(n.value)
	}
	if n.exact && uint(n.exp+22) <= 44 {
		if f := n.scaled(); n.mant>>53 == 0 || sure32(f) {
			return float32(f)
		}
	}
	return float32(n.slow(b))
}

// sure32 says that f, which may be some units in the last place off the right
// float64, rounds to the right float32 all the same: it does not lie next to the
// middle between two of them.
func sure32(f float64) bool {
	const half, near = 1 << 28, 8
	low := math.Float64bits(f) & (1<<29 - 1)
	a := math.Abs(f)
	return low-(half-near) > 2*near && (a > 1e-37 && a < 3e38 || a == 0)
}

func (n *number) scaled() float64 {
	f := float64(n.mant)
	if n.exp < 0 {
		f /= pow10[-n.exp]
	} else {
		f *= pow10[n.exp]
	}
	if n.neg {
		f = -f
	}
	return f
}

func (n *number) slow(b []byte) float64 {
	text := b[n.start:n.end]
	// ParseFloat keeps no reference to its argument. Its one possible error, an
	// overflow, comes with the infinity that callers look for.
	f, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return f
}

// signed is the value as int64; false when it is no integer or does not fit.
func (n *number) signed() (int64, bool) {
	ok := n.integer && n.exact
	if n.neg {
		return -int64(n.mant), ok && n.mant <= 1<<63
	}
	return int64(n.mant), ok && n.mant <= math.MaxInt64
}

// unsigned is the value as uint64; false when it is no integer, negative or
// does not fit. Minus zero is zero.
func (n *number) unsigned() (uint64, bool) {
	return n.mant, n.integer && n.exact && (!n.neg || n.mant == 0)
}
