package model

import (
	"encoding/binary"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// completeRaw gives the one tensor of a raw request the name, type and shape of
// the model's only input. One dimension that may vary is found from the number
// of bytes.
func (k *checker) completeRaw(r *infer.Request) error {
	if n := len(k.sig.Inputs); n != 1 {
		return invalidRequest(r, "Raw request must only have 1 input (found 1) to be deduced but got %d inputs in '%s' model configuration", n, k.model)
	}
	v, t := &k.sig.Inputs[0], &r.Inputs[0]
	t.Name, t.DataType, t.Shape = v.Name, v.DataType, t.Shape[:0]
	if k.maxBatch > 0 {
		t.Shape = append(t.Shape, 1)
	}
	batch := len(t.Shape)
	t.Shape = append(t.Shape, v.Dims...)
	if v.DataType == tensor.Bytes {
		if !v.Dims.Equal(tensor.Shape{1}) {
			return invalidRequest(r, "For BYTE datatype raw input '%s', the model must have input shape [1]", v.Name)
		}
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], uint32(t.Data.Len()))
		t.Data = prependBatch(word[:], &t.Data)
		return nil
	}
	varies, row := -1, int64(v.DataType.Size())
	for i, d := range v.Dims {
		switch {
		case d == -1 && varies >= 0:
			return invalidRequest(r, "The shape of the raw input '%s' can not be deduced because there are more than one variable-sized dimension", v.Name)
		case d == -1:
			varies = batch + i
		default:
			row *= d
		}
	}
	if varies >= 0 {
		t.Shape[varies] = 0
		if row > 0 {
			t.Shape[varies] = int64(t.Data.Len()) / row
		}
	}
	return nil
}

// prependBatch puts a few bytes in front of d.
func prependBatch(head []byte, d *tensor.Data) tensor.Data {
	out := tensor.NewData(tensor.HeapBuffer(head))
	for i := range d.Segments() {
		s := d.Segment(i)
		out.Append(s.Buffer, s.Off, s.N)
	}
	d.Release()
	return out
}
