package tensor

import "math"

// BF16Bits rounds f to BF16, to nearest even. NaN stays NaN.
func BF16Bits(f float32) uint16 {
	u := math.Float32bits(f)
	if f != f {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// FP16Bits rounds f to FP16, to nearest even. Values beyond its range become
// infinite, and NaN stays NaN.
func FP16Bits(f float32) uint16 {
	u := math.Float32bits(f)
	sign := uint16(u >> 16 & 0x8000)
	exp := int(u>>23&0xff) - 127
	mant := u & 0x7fffff
	switch {
	case exp == 128: // infinity or NaN
		if mant != 0 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case exp > 15:
		return sign | 0x7c00
	case exp >= -14:
		v := uint32(exp+15)<<10 | mant>>13
		return sign | uint16(v+roundUp(mant, 13, v))
	case exp >= -25:
		mant |= 0x800000
		shift := uint(-exp - 1)
		v := mant >> shift
		return sign | uint16(v+roundUp(mant, shift, v))
	}
	return sign
}

// roundUp returns what to add to v, which is mant without its low bits.
func roundUp(mant uint32, low uint, v uint32) uint32 {
	rest, halfway := mant&(1<<low-1), uint32(1)<<(low-1)
	if rest > halfway || rest == halfway && v&1 == 1 {
		return 1
	}
	return 0
}

// FromBF16 returns the value of a BF16.
func FromBF16(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// FromFP16 returns the value of an FP16.
func FromFP16(bits uint16) float32 {
	sign, exp, mant := uint32(bits&0x8000)<<16, uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exp {
	case 0: // zero or a subnormal number, mant * 2^-24
		f := float32(mant) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | mant<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | mant<<13)
}
