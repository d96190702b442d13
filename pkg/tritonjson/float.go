package tritonjson

import (
	"math"
	"strconv"
	"unsafe"
)

var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// float64 returns the correctly rounded value. number was read from text.
func (n *number) float64(text []byte) float64 {
	if n.special {
		return n.value
	}
	// mant is below 2^53 and the power of ten is exact, so the one operation
	// rounds once.
	if n.exact && n.mant>>53 == 0 && uint(n.exp+22) <= 44 {
		return n.scaled()
	}
	return n.parse(text)
}

// float32 is float64 rounded once more.
func (n *number) float32(text []byte) float32 {
	if n.special {
		return float32(n.value)
	}
	if n.exact && uint(n.exp+22) <= 44 {
		if f := n.scaled(); n.mant>>53 == 0 || roundsAlike(f) {
			return float32(f)
		}
	}
	return float32(n.parse(text))
}

// roundsAlike reports whether f, which may be some units in the last place off
// the correct float64, rounds to the same float32 as the correct one: f does not
// lie near the middle between two float32.
func roundsAlike(f float64) bool {
	const half, near = 1 << 28, 8
	low := math.Float64bits(f) & (1<<29 - 1)
	a := math.Abs(f)
	return low-(half-near) > 2*near && (a > 1e-37 && a < 3e38 || a == 0)
}

// scaled returns mant * 10^exp in one operation. exp must be in the range of
// pow10.
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

// parse reads the number's text in full precision.
func (n *number) parse(text []byte) float64 {
	digits := text[n.start:n.end]
	// ParseFloat keeps no reference to its argument. Its one possible error, an
	// overflow, comes with the infinity that checkSize looks for.
	f, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(digits), len(digits)), 64)
	return f
}
