package trace

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
	"triton/server/infer"
)

// tensor records a tensor if the level includes tensors.
func (t *Trace) tensor(activity string, in *kserve.Tensor) {
	if t.request.sampler.level&tensors == 0 || t.request.tracer.spans != nil {
		return
	}
	// A copy, because a client may unmap shared memory meanwhile.
	data := make([]byte, in.Data.Len())
	if tensor.CopyShared(data, &in.Data) != nil {
		return
	}
	b := append(tritonjson.AppendValid([]byte(`,"tensor":{"name":`), in.Name), `,"data":`...)
	b = tritonjson.AppendValid(b, string(appendValues(nil, in.DataType, data)))
	b = append(b, `,"shape":"`...)
	for i, n := range in.Shape {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	b = append(append(append(b, `","dtype":"`...), in.DataType.String()...), `"}`...)
	t.tensors = append(t.tensors, event{name: activity, at: infer.Now(), tensor: b})
}

// appendValues appends values with commas between them. It leaves out half floats, as Triton does.
func appendValues(b []byte, d tensor.DataType, data []byte) []byte {
	switch d {
	case tensor.Bytes:
		return appendTexts(b, data)
	case tensor.FP16, tensor.BF16, tensor.Invalid:
		return b
	}
	size := d.Size()
	for first := true; len(data) >= size; first = false {
		if !first {
			b = append(b, ',')
		}
		b = appendValue(b, d, data)
		data = data[size:]
	}
	return b
}

// appendTexts appends strings as fields of a CSV line: quotes inside are doubled.
func appendTexts(b, data []byte) []byte {
	for first := true; len(data) >= 4; first = false {
		n := uint64(binary.LittleEndian.Uint32(data))
		data = data[4:]
		if n > uint64(len(data)) {
			break
		}
		if !first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), bytes.ReplaceAll(data[:n], []byte{'"'}, []byte{'"', '"'})...), '"')
		data = data[n:]
	}
	return b
}

func appendValue(b []byte, d tensor.DataType, data []byte) []byte {
	le := binary.LittleEndian
	switch d {
	case tensor.Bool:
		if data[0] != 0 {
			return append(b, '1')
		}
		return append(b, '0')
	case tensor.Uint8: // Triton writes a character, which its own reader cannot read
		return strconv.AppendUint(b, uint64(data[0]), 10)
	case tensor.Int8:
		return strconv.AppendInt(b, int64(int8(data[0])), 10)
	case tensor.Uint16:
		return strconv.AppendUint(b, uint64(le.Uint16(data)), 10)
	case tensor.Uint32:
		return strconv.AppendUint(b, uint64(le.Uint32(data)), 10)
	case tensor.Uint64:
		return strconv.AppendUint(b, le.Uint64(data), 10)
	case tensor.Int16:
		return strconv.AppendInt(b, int64(int16(le.Uint16(data))), 10)
	case tensor.Int32:
		return strconv.AppendInt(b, int64(int32(le.Uint32(data))), 10)
	case tensor.Int64:
		return strconv.AppendInt(b, int64(le.Uint64(data)), 10)
	case tensor.FP32:
		return appendFloat(b, float64(math.Float32frombits(le.Uint32(data))))
	case tensor.FP64:
		return appendFloat(b, math.Float64frombits(le.Uint64(data)))
	}
	return b
}

// appendFloat appends six digits, as a C++ stream does.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return append(b, "-nan"...)
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, f, 'g', 6, 64)
}
