package model

import (
	"triton/pkg/modelconfig/extension"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// pad pads a request to the length of a bucket. A request without any of the inputs is
// unchanged.
func (b *lengthRunner) pad(r *infer.Request) error {
	length, err := b.length(r)
	if err != nil || length < 0 {
		return err
	}
	if length == 0 {
		return status.New(status.InvalidArg, "%sthe inputs of model '%s' have length 0, which is in no length bucket", r.Tag(), r.ModelName)
	}
	bucket := b.bucket(length)
	if bucket < 0 {
		all := b.lengths.Buckets
		return status.New(status.InvalidArg, "%slength %d is more than the largest length bucket of model '%s', which is %d",
			r.Tag(), length, r.ModelName, all[len(all)-1])
	}
	for i := range b.lengths.Inputs {
		if err := b.fill(r, &b.lengths.Inputs[i], bucket); err != nil {
			return err
		}
	}
	if err := b.mask(r, length, bucket); err != nil {
		return err
	}
	if len(b.lengths.Outputs) > 0 && bucket > length {
		b.trimOutputs(r, length, bucket)
	}
	return nil
}

// length returns the common length of all inputs and the mask; -1 when none was sent.
func (b *lengthRunner) length(r *infer.Request) (int64, error) {
	length, from := int64(-1), ""
	checkLength := func(p *extension.Padded) error {
		t := r.Request.Input(p.Name)
		if t == nil {
			return nil
		}
		n := t.Shape[b.skip+p.Dim]
		switch {
		case length < 0:
			length, from = n, p.Name
		case n != length:
			return status.New(status.InvalidArg, "%sinputs '%s' and '%s' of model '%s' must have the same length, got %d and %d",
				r.Tag(), from, p.Name, r.ModelName, length, n)
		}
		return nil
	}
	for i := range b.lengths.Inputs {
		if err := checkLength(&b.lengths.Inputs[i]); err != nil {
			return 0, err
		}
	}
	if length < 0 || b.lengths.Mask == nil {
		return length, nil
	}
	return length, checkLength(b.lengths.Mask)
}

// bucket returns the smallest bucket that holds the length; -1 when none does.
func (b *lengthRunner) bucket(length int64) int64 {
	for _, n := range b.lengths.Buckets {
		if length <= n {
			return n
		}
	}
	return -1
}

// mask pads the client's mask or makes one.
func (b *lengthRunner) mask(r *infer.Request, length, bucket int64) error {
	m := b.lengths.Mask
	if m == nil {
		return nil
	}
	if r.Request.Input(m.Name) != nil {
		return b.fill(r, m, bucket)
	}
	t := r.AddInput()
	t.Name, t.DataType, t.Shape = m.Name, m.DataType, b.maskShape(t.Shape[:0], r, bucket)
	buf, s, err := b.newBuffer(r, m.Name, t.Shape, b.skip+m.Dim, m.DataType)
	if err != nil {
		return err
	}
	t.Data = tensor.NewData(buf)
	mem := buf.Bytes()
	for row := 0; row < len(mem); row += s.stride {
		n := row + int(length)*s.inner
		repeat(mem[row:n], m.Real)
		repeat(mem[n:row+s.stride], m.Fill)
	}
	return nil
}

// maskShape appends the shape of a mask of that length; other variable dimensions are 1.
func (b *lengthRunner) maskShape(shape tensor.Shape, r *infer.Request, length int64) tensor.Shape {
	if b.skip > 0 {
		shape = append(shape, int64(r.Batch))
	}
	for i, d := range b.lengths.Mask.Dims {
		switch {
		case i == b.lengths.Mask.Dim:
			d = length
		case d < 0:
			d = 1
		}
		shape = append(shape, d)
	}
	return shape
}

// fill pads one input if the request has it.
func (b *lengthRunner) fill(r *infer.Request, p *extension.Padded, bucket int64) error {
	t := r.Request.Input(p.Name)
	if t == nil {
		return nil
	}
	at := b.skip + p.Dim
	length := t.Shape[at]
	if length == bucket {
		return nil
	}
	t.Shape[at] = bucket
	buf, s, err := b.newBuffer(r, p.Name, t.Shape, at, t.DataType)
	if err != nil {
		return err
	}
	mem, data := buf.Bytes(), tensor.NewData(buf)
	n := t.Data.Len()
	if err := tensor.CopyShared(mem[:n], &t.Data); err != nil {
		data.Release()
		return err
	}
	b.pool.CopiedToModel(n)
	s.spread(mem, int(length), p.Fill)
	t.Data.Release()
	t.Data = data
	return nil
}

// newBuffer allocates memory for a tensor of that shape.
func (b *lengthRunner) newBuffer(r *infer.Request, name string, shape tensor.Shape, at int, d tensor.DataType) (*tensor.Buffer, strides, error) {
	shape = b.countable(shape)
	n, err := shape.ByteSize(d)
	var buf *tensor.Buffer
	if err == nil {
		buf, err = b.pool.TryGet(int(n))
	}
	if err != nil {
		return nil, strides{}, status.New(status.Unavailable, "%sno memory for input '%s' padded to %v: %w", r.Tag(), name, shape, err)
	}
	return buf, stridesOf(shape, at, d), nil
}
