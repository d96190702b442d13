package rest

import (
	"encoding/binary"
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// data reads the data array at the cursor into memory of the pool.
func (d *Decoder) data(t *kserve.Tensor) error {
	r := &d.r
	count, err := t.Shape.Elements()
	if err != nil {
		return status.New(status.InvalidArg, "invalid shape for input '%s': shape %s causes total element count to exceed maximum size of %d",
			t.Name, t.Shape, int64(math.MaxInt64))
	}
	if count == 0 { // then the data does not matter, whatever it is
		if !r.skip(3) {
			return r.err()
		}
		return nil
	}
	if !r.is('[') {
		return within("Unable to parse 'data'", errArray)
	}
	switch t.DataType {
	case tensor.Invalid:
		return status.New(status.InvalidArg, "invalid datatype for input %s", t.Name)
	case tensor.FP16, tensor.BF16:
		return status.New(status.InvalidArg, "receiving %s data via JSON is not supported. Please use the binary data format for input %s",
			t.DataType, t.Name)
	case tensor.Bytes:
		return d.stringData(t)
	}
	size, err := t.Shape.ByteSize(t.DataType)
	if err != nil {
		return status.New(status.InvalidArg, "byte size overflow for input '%s': element count (%d) * data type size (%d) exceeds maximum allowed size (%d)",
			t.Name, count, t.DataType.Size(), int64(math.MaxInt64))
	}
	if err := d.checkSize(t, size); err != nil {
		return err
	}
	return d.numberData(t, int(count))
}

func (d *Decoder) checkSize(t *kserve.Tensor, size int64) error {
	if size > d.limit() {
		return status.New(status.InvalidArg, "JSON input '%s' has a byte_size (%d bytes) that exceeds the maximum allowed value of %d bytes."+
			" Use --http-max-input-size to increase the limit.", t.Name, size, d.limit())
	}
	return nil
}

// memory takes n bytes of the pool for an input.
func (d *Decoder) memory(t *kserve.Tensor, n int) (*tensor.Buffer, error) {
	b, err := d.Pool.TryGet(n)
	if err != nil {
		return nil, status.New(status.Unavailable, "no memory for input '%s' of %d bytes: %w", t.Name, n, err)
	}
	return b, nil
}

const errCount = "Unable to parse 'data': Shape does not match true shape of 'data' field"

func (d *Decoder) numberData(t *kserve.Tensor, count int) error {
	// Each element takes two bytes of text at least, so a shape that promises
	// more than that is not believed.
	room := min(count, (len(d.r.b)-d.r.i)/2+1)
	size := t.DataType.Size()
	b, err := d.memory(t, room*size)
	if err != nil {
		return err
	}
	f := filler{r: &d.r, dst: b.Bytes(), kind: t.DataType}
	err = f.fill()
	if err == nil && f.n != count {
		err = &status.Error{Code: status.Internal, Msg: errCount}
	}
	if err != nil {
		b.Release()
		return err
	}
	t.Data = tensor.NewData(b)
	return nil
}

// filler reads a nested array of numbers or booleans into memory.
type filler struct {
	r    *reader
	dst  []byte
	n    int // elements
	kind tensor.DataType
}

// fill walks the array at the cursor. How it is nested does not matter.
func (f *filler) fill() error {
	r := f.r
	depth := 0
	for {
		// A value is due.
		f.plain()
		r.space()
		if r.is('[') {
			if depth++; depth > maxDataDepth {
				return status.New(status.InvalidArg, "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (%d)", maxDataDepth)
			}
			r.i++
			r.space()
			if !r.is(']') {
				continue
			}
		} else if err := f.element(); err != nil {
			return err
		}
		// A value has ended.
		for {
			if r.i < len(r.b) && r.b[r.i] == ',' {
				r.i++
				break
			}
			r.space()
			c := r.peek()
			r.i++
			if c == ',' {
				break
			}
			if c != ']' {
				r.fail(reasonArrayComma, r.i-1)
				return r.err()
			}
			if depth--; depth == 0 {
				return nil
			}
		}
	}
}

func (f *filler) element() error {
	size := f.kind.Size()
	if (f.n+1)*size > len(f.dst) {
		return &status.Error{Code: status.Internal, Msg: errCount}
	}
	at := f.dst[f.n*size:]
	f.n++
	if f.kind == tensor.Bool {
		v, ok := f.r.bool()
		if !ok {
			return within("Unable to parse 'data'", errBool)
		}
		at[0] = 0
		if v {
			at[0] = 1
		}
		return nil
	}
	var n number
	// What is no number at all is for the exact reading to tell apart: a syntax
	// error or another type.
	if !f.r.number(&n) {
		return within("Unable to parse 'data'", f.typeError())
	}
	return f.store(at, &n)
}

func (f *filler) store(at []byte, n *number) error {
	switch f.kind {
	case tensor.FP32:
		binary.LittleEndian.PutUint32(at, math.Float32bits(n.float32(f.r.b)))
		return nil
	case tensor.FP64:
		binary.LittleEndian.PutUint64(at, math.Float64bits(n.float(f.r.b)))
		return nil
	}
	var v uint64
	var ok bool
	if f.kind <= tensor.Uint64 {
		v, ok = n.unsigned()
	} else {
		var s int64
		s, ok = n.signed()
		v = uint64(s)
	}
	if !ok {
		return within("Unable to parse 'data'", f.typeError())
	}
	switch f.kind.Size() { // too large values lose their upper bits, as in Triton
	case 1:
		at[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(at, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(at, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(at, v)
	}
	return nil
}

func (f *filler) typeError() string {
	switch {
	case f.kind >= tensor.FP16:
		return errDouble
	case f.kind <= tensor.Uint64:
		return errUint
	}
	return errInt
}
