package rest

import (
	"encoding/binary"
	"math"

	"triton/pkg/tensor"
)

// margin is the text that must follow an element for the loops below, so that
// they need not look for the end at each byte.
const margin = 32

// plain reads elements as long as they are of the plainest form: digits, perhaps
// with a sign and a fraction, and a comma right behind. That is nearly all of
// them. What is not it leaves, with the cursor before it.
func (f *filler) plain() {
	switch f.kind {
	case tensor.Bool:
	case tensor.FP32, tensor.FP64:
		f.plainFloats()
	default:
		f.plainInts()
	}
}

func (f *filler) plainInts() {
	b, i, dst := f.r.b, f.r.i, f.dst
	size, signed := f.kind.Size(), f.kind >= tensor.Int8
	to := f.n * size
	for i+margin <= len(b) && to < len(dst) {
		j := skipBlank(b, i)
		minus := isMinus(b[j])
		j += minus
		v, n := eight(b[j:])
		if n == 8 {
			w, more := eight(b[j+8:])
			v, n = v*tens[more]+w, 8+more
		}
		// Sixteen digits may go on; a leading zero may be an error.
		if n == 0 || n == 16 || b[j] == '0' && n > 1 || minus != 0 && !signed || b[j+n] != ',' {
			break
		}
		v = (v ^ -uint64(minus)) + uint64(minus)
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
	f.n, f.r.i = to/size, i
}

func (f *filler) plainFloats() {
	b, i, dst := f.r.b, f.r.i, f.dst
	size := f.kind.Size()
	to := f.n * size
	for i+margin <= len(b) && to < len(dst) {
		j := skipBlank(b, i)
		minus := isMinus(b[j])
		j += minus
		mant, n := eight(b[j:])
		if n == 0 || n == 8 || b[j] == '0' && n > 1 {
			break
		}
		j += n
		scale := 1.0
		if b[j] == '.' {
			w, count := eight(b[j+1:])
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
			if !sure32(v) {
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
	f.n, f.r.i = to/size, i
}

// fraction reads up to 16 digits more.
func fraction(b []byte, i int, mant uint64) (uint64, int) {
	for range 2 {
		if i+8 > len(b) {
			break
		}
		v, n := eight(b[i:])
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

// isMinus is 1 or 0, without a branch: signs are hard to foresee.
func isMinus(c byte) int { return int((uint32(c^'-') - 1) >> 31) }
