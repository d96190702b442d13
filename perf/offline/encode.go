package offline

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// rowOutput is one output of one row, without the batch dimension.
type rowOutput struct {
	Name     string
	DataType tensor.DataType
	Shape    tensor.Shape
	Data     []byte
}

// appendOutputs appends the line of a row that was answered: {"OUTPUT0": [[1, 2]], ...}. Nested
// arrays have the shape. Elements of BYTES that are no text are {"b64": "..."}; NaN and infinite
// numbers are NaN, Infinity and -Infinity, as in Python.
func appendOutputs(b []byte, outputs []rowOutput) ([]byte, error) {
	b = append(b, '{')
	for i := range outputs {
		o := &outputs[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(tritonjson.AppendValid(b, o.Name), ':')
		var err error
		if b, err = appendTensor(b, o); err != nil {
			return nil, fmt.Errorf("output %q: %w", o.Name, err)
		}
	}
	return append(b, '}', '\n'), nil
}

// appendError appends the line of a row that failed: {"error": "..."}.
func appendError(b []byte, err error) []byte {
	b = append(b, `{"error":`...)
	b = tritonjson.AppendValid(b, err.Error())
	return append(b, '}', '\n')
}

func appendTensor(b []byte, o *rowOutput) ([]byte, error) {
	n, err := o.Shape.Elements()
	if err != nil {
		return nil, fmt.Errorf("its shape %s: %w", o.Shape, err)
	}
	rest := o.Data
	if n == 0 && brackets(o.Shape) > maxBrackets {
		return nil, fmt.Errorf("its shape %s has no elements and too many lists", o.Shape)
	}
	if size := o.DataType.Size(); size > 0 && n != int64(len(rest)/size) || size == 0 && n > int64(len(rest)/4) {
		return nil, fmt.Errorf("%d bytes are too many or too few for the shape %s of %s", len(rest), o.Shape, o.DataType)
	}
	b, rest, err = appendDim(b, o, o.Shape, rest)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left behind the shape %s of %s", len(rest), o.Shape, o.DataType)
	}
	return b, err
}

// maxBrackets bounds the empty lists of a tensor without elements, which its bytes do not bound.
const maxBrackets = 1 << 20

// brackets returns the number of lists of a shape that has no elements.
func brackets(shape tensor.Shape) int64 {
	n := int64(1)
	for _, d := range shape {
		if d == 0 || n > maxBrackets {
			break
		}
		n *= min(d, maxBrackets+1)
	}
	return n
}

func appendDim(b []byte, o *rowOutput, shape tensor.Shape, rest []byte) ([]byte, []byte, error) {
	if len(shape) == 0 {
		return appendElement(b, o.DataType, rest)
	}
	b = append(b, '[')
	var err error
	for i := range shape[0] {
		if i > 0 {
			b = append(b, ',')
		}
		if b, rest, err = appendDim(b, o, shape[1:], rest); err != nil {
			return nil, nil, err
		}
	}
	return append(b, ']'), rest, nil
}

// appendElement appends the first element of data and returns the rest.
func appendElement(b []byte, t tensor.DataType, data []byte) ([]byte, []byte, error) {
	size := t.Size()
	if t == tensor.Bytes {
		if len(data) < 4 {
			return nil, nil, tensor.ErrTruncated
		}
		n := binary.LittleEndian.Uint32(data)
		if data = data[4:]; uint64(n) > uint64(len(data)) {
			return nil, nil, tensor.ErrTruncated
		}
		return appendText(b, data[:n]), data[n:], nil
	}
	e := data[:size]
	switch t {
	case tensor.Bool:
		b = strconv.AppendBool(b, e[0] != 0)
	case tensor.Uint8:
		b = strconv.AppendUint(b, uint64(e[0]), 10)
	case tensor.Uint16:
		b = strconv.AppendUint(b, uint64(binary.LittleEndian.Uint16(e)), 10)
	case tensor.Uint32:
		b = strconv.AppendUint(b, uint64(binary.LittleEndian.Uint32(e)), 10)
	case tensor.Uint64:
		b = strconv.AppendUint(b, binary.LittleEndian.Uint64(e), 10)
	case tensor.Int8:
		b = strconv.AppendInt(b, int64(int8(e[0])), 10)
	case tensor.Int16:
		b = strconv.AppendInt(b, int64(int16(binary.LittleEndian.Uint16(e))), 10)
	case tensor.Int32:
		b = strconv.AppendInt(b, int64(int32(binary.LittleEndian.Uint32(e))), 10)
	case tensor.Int64:
		b = strconv.AppendInt(b, int64(binary.LittleEndian.Uint64(e)), 10)
	case tensor.FP16:
		b = appendNumber(b, float64(tensor.FromFP16(binary.LittleEndian.Uint16(e))), 32)
	case tensor.BF16:
		b = appendNumber(b, float64(tensor.FromBF16(binary.LittleEndian.Uint16(e))), 32)
	case tensor.FP32:
		b = appendNumber(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(e))), 32)
	default:
		b = appendNumber(b, math.Float64frombits(binary.LittleEndian.Uint64(e)), 64)
	}
	return b, data[size:], nil
}

func appendText(b, text []byte) []byte {
	if utf8.Valid(text) {
		return tritonjson.AppendString(b, text)
	}
	b = append(b, `{"b64":"`...)
	b = base64.StdEncoding.AppendEncode(b, text)
	return append(b, `"}`...)
}

// appendNumber appends the shortest number that reads back as f.
func appendNumber(b []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}
