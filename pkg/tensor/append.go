package tensor

import (
	"encoding/binary"
	"math"
)

// AppendUint appends the low bytes of u, size of them: 1, 2, 4 or 8.
func AppendUint(b []byte, u uint64, size int) []byte {
	switch size {
	case 1:
		return append(b, byte(u))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(u))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(u))
	}
	return binary.LittleEndian.AppendUint64(b, u)
}

// AppendFloat appends f rounded to a data type of floating point numbers.
func AppendFloat(b []byte, f float64, t DataType) []byte {
	switch t {
	case FP16:
		return binary.LittleEndian.AppendUint16(b, FP16Bits(float32(f)))
	case BF16:
		return binary.LittleEndian.AppendUint16(b, BF16Bits(float32(f)))
	case FP32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}
