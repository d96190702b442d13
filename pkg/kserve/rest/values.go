package rest

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

func appendStrings(dst []byte, t *kserve.Tensor, data []byte, count int64) ([]byte, error) {
	n := int64(0)
	for s, err := range tensor.Elements(data) {
		if err != nil {
			n = -1
			break
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = tritonjson.AppendString(dst, s)
		n++
	}
	if n != count {
		return nil, status.New(status.Internal, "output tensor shape does not match size of output for '%s'", t.Name)
	}
	return dst, nil
}

func appendNumbers(dst []byte, t *kserve.Tensor, data []byte, count int64) ([]byte, error) {
	size := t.DataType.Size()
	if size == 0 || int64(len(data)) != count*int64(size) || int64(len(data)/size) != count {
		return nil, status.New(status.Internal,
			"Failed to write 'data' field: output tensor shape does not match size of output for '%s'", t.Name)
	}
	begin := len(dst)
	for i := 0; i < len(data); i += size {
		if i > 0 {
			dst = append(dst, ',')
		}
		if i == sample*size {
			dst = grow(dst, len(dst)-begin, (len(data)-i)/i)
		}
		dst = appendNumber(dst, t.DataType, data[i:])
	}
	return dst, nil
}

// sample is the number of numbers after which the length of all is estimated.
const sample = 1024

// grow makes room for the given number of texts of the given length, and an eighth more, so
// that dst is not doubled again and again.
func grow(dst []byte, text, times int) []byte {
	return slices.Grow(dst, text*(times+1)*9/8)
}

func appendNumber(dst []byte, d tensor.DataType, b []byte) []byte {
	le := binary.LittleEndian
	switch d {
	case tensor.Bool:
		return strconv.AppendBool(dst, b[0] != 0)
	case tensor.Uint8:
		return strconv.AppendUint(dst, uint64(b[0]), 10)
	case tensor.Uint16:
		return strconv.AppendUint(dst, uint64(le.Uint16(b)), 10)
	case tensor.Uint32:
		return strconv.AppendUint(dst, uint64(le.Uint32(b)), 10)
	case tensor.Uint64:
		return strconv.AppendUint(dst, le.Uint64(b), 10)
	case tensor.Int8:
		return strconv.AppendInt(dst, int64(int8(b[0])), 10)
	case tensor.Int16:
		return strconv.AppendInt(dst, int64(int16(le.Uint16(b))), 10)
	case tensor.Int32:
		return strconv.AppendInt(dst, int64(int32(le.Uint32(b))), 10)
	case tensor.Int64:
		return strconv.AppendInt(dst, int64(le.Uint64(b)), 10)
	case tensor.FP32:
		return tritonjson.AppendFloat(dst, float64(math.Float32frombits(le.Uint32(b))))
	}
	return tritonjson.AppendFloat(dst, math.Float64frombits(le.Uint64(b)))
}
