package rest

import (
	"encoding/binary"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// oneNumber reads a number or boolean that stands alone.
func (d *Decoder) oneNumber(t *kserve.Tensor) error {
	b, err := d.memory(t, t.DataType.Size())
	if err != nil {
		return err
	}
	f := filler{r: &d.r, dst: b.Bytes(), kind: t.DataType}
	if err := f.element(); err != nil {
		b.Release()
		return err
	}
	t.Data = tensor.NewData(b)
	return nil
}

// oneString reads a string that stands alone.
func (d *Decoder) oneString(t *kserve.Tensor) error {
	r := &d.r
	if !r.is('"') {
		return within("Unable to parse JSON bytes array", errString)
	}
	s, ok := r.str()
	if !ok {
		return r.err()
	}
	b, err := d.memory(t, 4+len(s))
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b.Bytes(), uint32(len(s)))
	copy(b.Bytes()[4:], s)
	t.Data = tensor.NewData(b)
	return nil
}
