package traffic

import (
	"encoding/binary"
	"math"
	"strconv"

	"triton/pkg/tensor"
)

// elementDecoder returns the function that reads an element of a data type with a fraction as a float64;
// nil for other types.
func elementDecoder(d tensor.DataType) func(b []byte) float64 {
	switch d {
	case tensor.FP64:
		return func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	case tensor.FP32:
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case tensor.BF16:
		return func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}
	case tensor.FP16:
		return func(b []byte) float64 { return halfElement(binary.LittleEndian.Uint16(b)) }
	}
	return nil
}

// halfElement returns the value of an FP16.
func halfElement(bits uint16) float64 {
	mantissa, exponent := float64(bits&0x3ff), int(bits>>10&0x1f)
	v := 0.0
	switch exponent {
	case 0:
		v = math.Ldexp(mantissa, -24)
	case 31:
		v = math.Inf(1)
		if mantissa != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+mantissa, exponent-25)
	}
	if bits&0x8000 != 0 {
		return -v
	}
	return v
}

// integerElement returns the value of an element of an integer type or BOOL.
func integerElement(d tensor.DataType, b []byte) float64 {
	switch d {
	case tensor.Int8:
		return float64(int8(b[0]))
	case tensor.Int16:
		return float64(int16(binary.LittleEndian.Uint16(b)))
	case tensor.Int32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case tensor.Int64:
		return float64(int64(binary.LittleEndian.Uint64(b)))
	}
	var all [8]byte
	copy(all[:], b)
	return float64(binary.LittleEndian.Uint64(all[:]))
}

// maxShown is the number of bytes of a BYTES element that a sampled difference shows.
const maxShown = 64

// showElement returns an element as text.
func showElement(d tensor.DataType, b []byte) string {
	switch {
	case d == tensor.Bytes:
		if len(b) > maxShown {
			return strconv.Quote(string(b[:maxShown])) + "..."
		}
		return strconv.Quote(string(b))
	case elementDecoder(d) != nil:
		return strconv.FormatFloat(elementDecoder(d)(b), 'g', -1, 64)
	case d == tensor.Uint64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(b), 10)
	case d == tensor.Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10)
	}
	return strconv.FormatFloat(integerElement(d, b), 'f', -1, 64)
}
