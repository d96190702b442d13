package tritonjson

import (
	"math"
	"math/bits"
)

// Triton prints floating point numbers with Grisu2 (Loitsch, 2010). Its text
// always reads back as the same number, but is not always the shortest or the
// nearest one. Clients compare texts, so the same algorithm runs here.

// extFloat is the number f * 2^e.
type extFloat struct {
	f uint64
	e int
}

func (x extFloat) normal() extFloat {
	s := bits.LeadingZeros64(x.f)
	return extFloat{x.f << s, x.e - s}
}

// times returns the product, rounded to 64 bits.
func (x extFloat) times(y extFloat) extFloat {
	hi, lo := bits.Mul64(x.f, y.f)
	return extFloat{hi + lo>>63, x.e + y.e + 64}
}

// shortest appends the digits of a finite f > 0 and returns the decimal
// exponent of the last one.
func shortest(dst []byte, f float64) ([]byte, int) {
	const mantissa, hidden, bias = 52, 1 << 52, 1075
	u := math.Float64bits(f)
	v := extFloat{u & (hidden - 1), int(u >> mantissa)}
	if v.e == 0 {
		v.e = 1
	} else {
		v.f |= hidden
	}
	v.e -= bias
	// high and low bound the numbers that read back as f.
	high := extFloat{v.f<<1 + 1, v.e - 1}.normal()
	low := extFloat{v.f<<1 - 1, v.e - 1}
	if v.f == hidden {
		low = extFloat{v.f<<2 - 1, v.e - 2}
	}
	low = extFloat{low.f << (low.e - high.e), high.e}

	power, k := powerFor(high.e)
	w, high, low := v.normal().times(power), high.times(power), low.times(power)
	low.f++
	high.f--
	return generate(dst, w, high, high.f-low.f, k)
}

// powerFor returns the power of ten that brings a number of binary exponent e
// near 2^-61, and the decimal exponent by which the digits of the product must then be
// scaled.
func powerFor(e int) (extFloat, int) {
	x := float64(-61-e)*0.30102999566398114 + 347
	k := int(x)
	if x > float64(k) {
		k++
	}
	i := k>>3 + 1
	p := powers[i]
	return extFloat{p.f, int(p.e)}, 348 - i*8
}

// generate writes the digits of high until the remainder is less than delta.
func generate(dst []byte, w, high extFloat, delta uint64, k int) ([]byte, int) {
	shift := -high.e
	one := uint64(1) << shift
	gap := high.f - w.f
	whole, part := uint32(high.f>>shift), high.f&(one-1)
	start := len(dst)
	for n := decimalDigits(whole); n > 0; {
		n--
		d := whole / uint32(tens[n])
		whole %= uint32(tens[n])
		if d != 0 || len(dst) > start {
			dst = append(dst, '0'+byte(d))
		}
		if left := uint64(whole)<<shift + part; left <= delta {
			approach(dst, delta, left, tens[n]<<shift, gap)
			return dst, k + n
		}
	}
	for n := 1; ; n++ {
		part *= 10
		delta *= 10
		if d := byte(part >> shift); d != 0 || len(dst) > start {
			dst = append(dst, '0'+d)
		}
		part &= one - 1
		if part < delta {
			scale := uint64(0)
			if n < gapDigits {
				scale = tens[n]
			}
			approach(dst, delta, part, one, gap*scale)
			return dst, k - n
		}
	}
}

// gapDigits is the number of decimals from which Triton's library skips the
// correction of the last digit.
const gapDigits = 9

// approach lowers the last digit while that brings the text nearer to the number.
func approach(dst []byte, delta, left, unit, gap uint64) {
	for left < gap && delta-left >= unit && (left+unit < gap || gap-left > left+unit-gap) {
		dst[len(dst)-1]--
		left += unit
	}
}

func decimalDigits(v uint32) int {
	n := 1
	for n < 9 && uint64(v) >= tens[n] {
		n++
	}
	return n
}

var tens = func() (t [20]uint64) {
	p := uint64(1)
	for i := range t {
		t[i] = p
		p *= 10
	}
	return t
}()
