package tritonjson

import (
	"encoding/binary"
	"math"
)

// margin is the text that must follow an element for the loops below, so that
// they need not look for the end at each byte.
const margin = 32

// PlainInts reads integers of size bytes into dst, the signed ones in two's complement, and
// returns the number of bytes written. It reads elements only in the plainest form, which
// nearly all have: an optional sign, digits, and a comma after them. It stops before the
// first other element, and before one that the type cannot hold.
func (r *Reader) PlainInts(dst []byte, size int, signed bool) int {
	b, i, to := r.text, r.at, 0
	// The type can hold v, in two's complement, if v+bias has none of the upper bits.
	bias, upper := uint64(0), ^uint64(0)<<uint(8*size)
	if signed {
		bias = 1 << uint(8*size-1)
	}
	for i+margin <= len(b) && to < len(dst) {
		j := skipBlank(b, i)
		minus := isMinus(b[j])
		j += minus
		v, n := eightDigits(b[j:])
		if n == 8 {
			w, more := eightDigits(b[j+8:])
			v, n = v*tens[more]+w, 8+more
		}
		// Sixteen digits may go on; a leading zero may be an error.
		if n == 0 || n == 16 || b[j] == '0' && n > 1 || minus != 0 && !signed || b[j+n] != ',' {
			break
		}
		v = (v ^ -uint64(minus)) + uint64(minus)
		if (v+bias)&upper != 0 {
			break
		}
		switch size {
		case 1:
			dst[to] = byte(v)
		case 2:
			binary.LittleEndian.PutUint16(dst[to:], uint16(v))
		case 4:
			binary.LittleEndian.PutUint32(dst[to:], uint32(v))
		default:
			binary.LittleEndian.PutUint64(dst[to:], v)
		}
		to += size
		i = j + n + 1
	}
	r.at = i
	return to
}

// PlainFloats is PlainInts for floating point numbers: an optional sign, digits and an
// optional fraction.
func (r *Reader) PlainFloats(dst []byte, size int) int {
	b, i, to := r.text, r.at, 0
	for i+margin <= len(b) && to < len(dst) {
		j := skipBlank(b, i)
		minus := isMinus(b[j])
		j += minus
		mant, n := eightDigits(b[j:])
		if n == 0 || n == 8 || b[j] == '0' && n > 1 {
			break
		}
		j += n
		scale := 1.0
		if b[j] == '.' {
			w, count := eightDigits(b[j+1:])
			mant = mant*tens[count] + w
			j += 1 + count
			if count == 8 {
				end := 0
				mant, end = fraction(b, j, mant)
				j, count = end, count+end-j
			}
			// Nineteen digits fit.
			if uint(count-1) > 17 || n+count > 19 {
				break
			}
			scale = pow10[count]
		}
		if b[j] != ',' {
			break
		}
		v := float64(mant) / scale
		if size == 4 {
			if !roundsAlike(v) {
				break
			}
			binary.LittleEndian.PutUint32(dst[to:], math.Float32bits(float32(v))|uint32(minus)<<31)
		} else {
			if mant>>53 != 0 {
				break
			}
			binary.LittleEndian.PutUint64(dst[to:], math.Float64bits(v)|uint64(minus)<<63)
		}
		to += size
		i = j + 1
	}
	r.at = i
	return to
}

// fraction appends up to 16 digits at b[i:] to mant and returns where they end.
func fraction(b []byte, i int, mant uint64) (uint64, int) {
	for range 2 {
		if i+8 > len(b) {
			break
		}
		v, n := eightDigits(b[i:])
		mant = mant*tens[n] + v
		i += n
		if n < 8 {
			break
		}
	}
	return mant, i
}

func skipBlank(b []byte, i int) int {
	if b[i] == ' ' {
		return i + 1
	}
	return i
}

// isMinus returns 1 for a minus sign, else 0. It has no branch, as signs are hard
// to predict.
func isMinus(c byte) int { return int((uint32(c^'-') - 1) >> 31) }
