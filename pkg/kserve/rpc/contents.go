package rpc

import (
	"encoding/binary"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The fields of InferTensorContents.
const (
	boolContents = iota + 1
	intContents
	int64Contents
	uintContents
	uint64Contents
	fp32Contents
	fp64Contents
	bytesContents
	numContents
)

// contents holds the typed contents of one tensor before they are decoded; only their
// elements have been counted.
type contents struct {
	tensor int
	msg    []byte // a view, or own memory once several were merged
	own    bool
	counts [numContents]int
	bytes  int // sum over the elements of bytes_contents
}

// content reads an InferTensorContents. A second one for the same tensor is merged: as in
// protobuf, it is appended.
func (d *decoder) content(msg []byte, tensor int) error {
	if n := len(d.contents); n == 0 || d.contents[n-1].tensor != tensor {
		if n == fewElements { // probably the other fields have elements too
			d.contents = slices.Grow(d.contents, max(d.counted[tensorsField]-tensor, 1))
		}
		d.contents = append(d.contents, contents{tensor: tensor})
	}
	c := &d.contents[len(d.contents)-1]
	if len(c.msg) > 0 { // add copies them together
		if err := d.take(len(c.msg) + len(msg)); err != nil {
			return err
		}
	}
	c.add(msg)
	for len(msg) > 0 {
		var f field
		var err error
		if f, msg, err = next(msg); err != nil {
			return err
		}
		n, err := count(f)
		if err != nil {
			return err
		}
		if n > 0 {
			c.counts[f.num] += n
		}
		if f.num == bytesContents && f.typ == protowire.BytesType {
			c.bytes += len(f.b)
		}
	}
	return nil
}

func (c *contents) add(msg []byte) {
	if len(c.msg) == 0 {
		c.msg = msg
		return
	}
	if !c.own {
		c.msg, c.own = slices.Clip(c.msg), true
	}
	c.msg = append(c.msg, msg...)
}

// wireType returns the wire type of an element of the field that is not packed.
func wireType(num protowire.Number) protowire.Type {
	switch num {
	case fp32Contents:
		return protowire.Fixed32Type
	case fp64Contents:
		return protowire.Fixed64Type
	case bytesContents:
		return protowire.BytesType
	}
	return protowire.VarintType
}

// count returns the number of elements that a field adds: one, or those of a packed run; 0
// for unknown fields.
func count(f field) (int, error) {
	if f.num < boolContents || f.num > bytesContents {
		return 0, nil
	}
	want := wireType(f.num)
	switch {
	case f.typ == want:
		return 1, nil
	case f.typ != protowire.BytesType:
		return 0, nil
	case want == protowire.Fixed32Type || want == protowire.Fixed64Type:
		size := 4
		if want == protowire.Fixed64Type {
			size = 8
		}
		if len(f.b)%size != 0 {
			return 0, errMalformed
		}
		return len(f.b) / size, nil
	}
	n := 0
	for b := f.b; len(b) > 0; n++ {
		_, k := protowire.ConsumeVarint(b)
		if k < 0 {
			return 0, errMalformed
		}
		b = b[k:]
	}
	return n, nil
}

// fieldType returns the data type of the contents field for a tensor of type d. The two
// fields of 32-bit integers also carry narrower types.
func fieldType(num int, d tensor.DataType) tensor.DataType {
	switch num {
	case boolContents:
		return tensor.Bool
	case intContents:
		if d == tensor.Int8 || d == tensor.Int16 {
			return d
		}
		return tensor.Int32
	case int64Contents:
		return tensor.Int64
	case uintContents:
		if d == tensor.Uint8 || d == tensor.Uint16 {
			return d
		}
		return tensor.Uint32
	case uint64Contents:
		return tensor.Uint64
	case fp32Contents:
		return tensor.FP32
	case fp64Contents:
		return tensor.FP64
	}
	return tensor.Bytes
}

// inRange checks the elements of tensors whose type is narrower than the 32 bits of the field
// that carries them. msg was read before.
func inRange(msg []byte, num int, t *kserve.Tensor) error {
	if t.DataType.Size() > 2 || num != intContents && num != uintContents {
		return nil
	}
	low, high, _ := t.DataType.IntegerRange()
	element := 0
	check := func(v uint64) error {
		n := int64(uint32(v))
		if num == intContents {
			n = int64(int32(v))
		}
		if n < low || n > int64(high) {
			e := tensor.RangeError{Element: element, Number: strconv.FormatInt(n, 10), Type: t.DataType}
			return invalid("unable to convert the contents of tensor '%s': %w", t.Name, &e)
		}
		element++
		return nil
	}
	for len(msg) > 0 {
		var f field
		f, msg, _ = next(msg)
		switch {
		case f.num != protowire.Number(num):
		case f.typ == protowire.VarintType:
			if err := check(f.v); err != nil {
				return err
			}
		case f.typ == protowire.BytesType:
			for b := f.b; len(b) > 0; {
				v, n := protowire.ConsumeVarint(b)
				if err := check(v); err != nil {
					return err
				}
				b = b[n:]
			}
		}
	}
	return nil
}

// write appends the elements of one field, as tensor bytes of elements of the given size,
// to dst, which has room for them.
func write(dst []byte, msg []byte, num protowire.Number, size int) []byte {
	want := wireType(num)
	for len(msg) > 0 {
		var f field
		f, msg, _ = next(msg) // was read before
		switch {
		case f.num != num:
		case num == bytesContents:
			if f.typ == want {
				dst = tensor.AppendElement(dst, f.b)
			}
		case f.typ == want:
			dst = appendElement(dst, f.v, num, size)
		case f.typ == protowire.BytesType && want == protowire.VarintType:
			for b := f.b; len(b) > 0; {
				v, n := protowire.ConsumeVarint(b)
				dst = appendElement(dst, v, num, size)
				b = b[n:]
			}
		case f.typ == protowire.BytesType:
			dst = append(dst, f.b...) // fixed-size elements, packed: tensor bytes
		}
	}
	return dst
}

// appendElement writes the low bytes of v; a bool is 0 or 1.
func appendElement(dst []byte, v uint64, num protowire.Number, size int) []byte {
	switch size {
	case 1:
		if num == boolContents && v != 0 {
			v = 1
		}
		return append(dst, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(dst, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}
