package beyond

import (
	"encoding/binary"
	"math"
	"strconv"

	"triton/pkg/tensor"
)

func zero(d tensor.DataType) []byte { return make([]byte, d.Size()) }

// element is the bytes of one element; false when the text is no value of the
// type.
func element(d tensor.DataType, text string) ([]byte, bool) {
	bits := d.Size() * 8
	var v uint64
	var err error
	switch d {
	case tensor.Bool:
		var b bool
		if b, err = strconv.ParseBool(text); b {
			v = 1
		}
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		v, err = strconv.ParseUint(text, 10, bits)
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, bits)
		v = uint64(n)
	default:
		return float(d, text)
	}
	if err != nil {
		return nil, false
	}
	return binary.LittleEndian.AppendUint64(nil, v)[:d.Size()], true
}

func float(d tensor.DataType, text string) ([]byte, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false
	}
	switch d {
	case tensor.FP64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)), true
	case tensor.FP32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f))), true
	case tensor.BF16:
		return binary.LittleEndian.AppendUint16(nil, uint16(math.Float32bits(float32(f))>>16)), true
	case tensor.FP16:
		h, ok := half(f)
		return binary.LittleEndian.AppendUint16(nil, h), ok
	}
	return nil, false
}

// half is a value that a half-precision number has exactly; pad values are zero,
// one and the like. False for others.
func half(f float64) (uint16, bool) {
	sign := uint16(math.Float64bits(f) >> 63 << 15)
	switch frac, exp := math.Frexp(math.Abs(f)); {
	case f == 0:
		return sign, true
	case math.IsInf(f, 0):
		return sign | 0x7c00, true
	case exp < -13 || exp > 16:
		return 0, false // not a normal number
	default:
		mantissa := frac * 2048 // 1024 to 2047
		if mantissa != math.Trunc(mantissa) {
			return 0, false
		}
		return sign | uint16(exp+14)<<10 | uint16(mantissa)&1023, true
	}
}
