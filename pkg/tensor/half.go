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
