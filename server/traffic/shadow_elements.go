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
		return func(b []byte) float64 { return float64(tensor.FromBF16(binary.LittleEndian.Uint16(b))) }
	case tensor.FP16:
		return func(b []byte) float64 { return float64(tensor.FromFP16(binary.LittleEndian.Uint16(b))) }
	}
	return nil
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
