package onnxmodel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/tensor"
)

// Weight is a tensor stored in a file. Its elements have a fixed size and are generated
// when they are written.
type Weight struct {
	Name string
	Elem ElemType
	Dims []int64
	// Data writes the elements, little-endian, outermost dimension first, and
	// exactly as many as Dims say.
	Data func(io.Writer) error
}

// Floats returns a FLOAT weight of these values.
func Floats(name string, dims []int64, values ...float32) Weight {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return Weight{name, Float, dims, raw(b)}
}

// Ints returns an INT64 weight of these values.
func Ints(name string, dims []int64, values ...int64) Weight {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return Weight{name, Int64, dims, raw(b)}
}

func raw(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// bytes returns the size of the elements; 0 when head reports an error.
func (t Weight) bytes() int64 {
	n, err := tensor.Shape(t.Dims).ByteSize(t.Elem.DataType())
	if err != nil {
		return 0
	}
	return n
}

// head returns the TensorProto up to the length of its raw data, inclusive.
func (t Weight) head() ([]byte, error) {
	size := t.Elem.DataType().Size()
	if size == 0 {
		return nil, fmt.Errorf("%v elements have no fixed size", t.Elem)
	}
	n, err := tensor.Shape(t.Dims).ByteSize(t.Elem.DataType())
	if err != nil {
		return nil, err
	}
	if n > math.MaxInt32 {
		return nil, errors.New("larger than the 2 GiB that an ONNX file can hold")
	}
	var b []byte
	for _, d := range t.Dims {
		b = appendInt(b, 1, d)
	}
	b = appendInt(b, 2, int64(t.Elem))
	b = appendText(b, 8, t.Name)
	b = protowire.AppendTag(b, 9, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n)), nil
}

// fill writes the elements and checks their number.
func (t Weight) fill(w io.Writer) error {
	c := counter{w: w}
	if err := t.Data(&c); err != nil {
		return err
	}
	if c.n != t.bytes() {
		return fmt.Errorf("%d bytes of data for %v of shape %v, which takes %d",
			c.n, t.Elem, tensor.Shape(t.Dims), t.bytes())
	}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Attr is an attribute of a node.
type Attr struct{ encoded []byte }

// The numbers of AttributeProto.AttributeType.
const (
	attrFloat = 1
	attrInt   = 2
	attrInts  = 7
)

// attr starts an AttributeProto; the value follows.
func attr(name string, typ int64) []byte {
	return appendInt(appendText(nil, 1, name), 20, typ)
}

// IntAttr returns an integer attribute.
func IntAttr(name string, v int64) Attr {
	return Attr{appendInt(attr(name, attrInt), 3, v)}
}

// IntsAttr returns a list of integers.
func IntsAttr(name string, values ...int64) Attr {
	b := attr(name, attrInts)
	for _, v := range values {
		b = appendInt(b, 8, v)
	}
	return Attr{b}
}

// FloatAttr returns a floating-point attribute.
func FloatAttr(name string, v float32) Attr {
	return Attr{appendFloat(attr(name, attrFloat), 2, v)}
}

func appendFloat(b []byte, num protowire.Number, v float32) []byte {
	b = protowire.AppendTag(b, num, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, math.Float32bits(v))
}
