package kserve

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"triton/pkg/status"
	"triton/pkg/tensor"
)

// maxClasses limits the elements per batch item of a classification.
const maxClasses = 1000000

// Classes turns the values of outputs into their top classes. It keeps scratch
// between calls and must not be used by two goroutines at once.
type Classes struct {
	order []int32
}

// Of returns the tensor of the k top classes as strings "value:index", with
// ":label" where labels has one, largest values first. With batched each item of
// the first dimension has classes of its own.
func (c *Classes) Of(t *Tensor, k int, batched bool, labels []string) (*Tensor, error) {
	switch t.DataType {
	case tensor.Bool, tensor.Bytes, tensor.FP16, tensor.BF16, tensor.Invalid:
		return nil, status.New(status.InvalidArg, "class result not available for output due to unsupported type '%s'", t.DataType)
	}
	data, whole := t.Data.Contiguous()
	if !whole {
		data = make([]byte, t.Data.Len())
		t.Data.CopyTo(data)
	}
	items, shape := 1, tensor.Shape(nil)
	total := len(data) / t.DataType.Size()
	if batched && len(t.Shape) > 0 {
		items = int(max(t.Shape[0], 0))
		shape = append(shape, t.Shape[0])
	}
	per := 0
	if items > 0 {
		per = total / items
	}
	if per > maxClasses {
		return nil, status.New(status.InvalidArg, "classification output tensor too large")
	}
	k = min(k, per)
	var out []byte
	for i := range items {
		item := data[i*per*t.DataType.Size():]
		for _, class := range c.top(t.DataType, item, per, k) {
			out = appendClass(out, t.DataType, item, int(class), labels)
		}
	}
	return &Tensor{
		Name: t.Name, DataType: tensor.Bytes, Shape: append(shape, int64(k)), Data: tensor.NewData(tensor.HeapBuffer(out)),
	}, nil
}

// ClassesSize returns an upper bound, in bytes, for the memory of the k top classes of a tensor,
// without long labels.
func (t *Tensor) ClassesSize(k int) int {
	const each = 128 // bytes of a class, while the list grows
	n := t.Data.Len() / max(t.DataType.Size(), 1)
	if len(t.Shape) > 0 && t.Shape[0] > 0 && int64(n)/t.Shape[0] > int64(k) {
		n = int(t.Shape[0]) * k
	}
	return n*each + t.Data.Len()
}

// top returns the indices of the k largest of n values. Among equal values the
// lower index comes first.
func (c *Classes) top(d tensor.DataType, data []byte, n, k int) []int32 {
	c.order = c.order[:0]
	for i := range n {
		c.order = append(c.order, int32(i))
	}
	size := d.Size()
	slices.SortFunc(c.order, func(x, y int32) int {
		a, b := data[int(x)*size:], data[int(y)*size:]
		if order := compareValues(d, b, a); order != 0 {
			return order
		}
		return cmp.Compare(x, y)
	})
	return c.order[:k]
}

func compareValues(d tensor.DataType, a, b []byte) int {
	le := binary.LittleEndian
	switch d {
	case tensor.FP32:
		return cmp.Compare(math.Float32frombits(le.Uint32(a)), math.Float32frombits(le.Uint32(b)))
	case tensor.FP64:
		return cmp.Compare(math.Float64frombits(le.Uint64(a)), math.Float64frombits(le.Uint64(b)))
	}
	if d <= tensor.Uint64 { // Bool and the unsigned types come first; Of refuses FP16 and BF16
		return cmp.Compare(unsignedAt(d, a), unsignedAt(d, b))
	}
	return cmp.Compare(signedAt(d, a), signedAt(d, b))
}

func unsignedAt(d tensor.DataType, b []byte) uint64 {
	le := binary.LittleEndian
	switch d.Size() {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(le.Uint16(b))
	case 4:
		return uint64(le.Uint32(b))
	}
	return le.Uint64(b)
}

func signedAt(d tensor.DataType, b []byte) int64 {
	unused := 64 - 8*d.Size()
	return int64(unsignedAt(d, b)<<unused) >> unused
}

// appendClass writes one element of the BYTES tensor.
func appendClass(dst []byte, d tensor.DataType, data []byte, class int, names []string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendClassValue(dst, d, data[class*d.Size():])
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, int64(class), 10)
	if class < len(names) && names[class] != "" {
		dst = append(dst, ':')
		dst = append(dst, names[class]...)
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendClassValue writes the value as C++'s to_string does.
func appendClassValue(dst []byte, d tensor.DataType, b []byte) []byte {
	le := binary.LittleEndian
	var f float64
	switch d {
	case tensor.FP32:
		f = float64(math.Float32frombits(le.Uint32(b)))
	case tensor.FP64:
		f = math.Float64frombits(le.Uint64(b))
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return strconv.AppendUint(dst, unsignedAt(d, b), 10)
	default:
		return strconv.AppendInt(dst, signedAt(d, b), 10)
	}
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return append(dst, "-nan"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "inf"...)
	}
	return strconv.AppendFloat(dst, f, 'f', 6, 64)
}
