package extension

import (
	"encoding/binary"
	"math"
	"strconv"

	"triton/pkg/tensor"
)

func zero(d tensor.DataType) []byte { return make([]byte, d.Size()) }

// element returns the bytes of one element. It reports false when the text is no
// value of the type.
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
		return binary.LittleEndian.AppendUint16(nil, tensor.BF16Bits(float32(f))), true
	case tensor.FP16:
		return binary.LittleEndian.AppendUint16(nil, tensor.FP16Bits(float32(f))), exactHalf(f)
	}
	return nil, false
}

// exactHalf reports whether FP16 has the value exactly and as a normal number.
// Pad values are zero, one and the like.
func exactHalf(f float64) bool {
	frac, exp := math.Frexp(f)
	return f == 0 || math.IsInf(f, 0) || exp >= -13 && exp <= 16 && frac*2048 == math.Trunc(frac*2048)
}
