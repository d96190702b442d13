package rest

import (
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// maxDataDepth bounds the nesting of one data array.
const maxDataDepth = 100

// data reads the data array at the cursor into memory of the pool.
func (d *Decoder) data(t *kserve.Tensor) error {
	count, err := t.Shape.Elements()
	if err != nil {
		return status.New(status.InvalidArg, "invalid shape for input '%s': shape %s causes total element count to exceed maximum size of %d",
			t.Name, t.Shape, int64(math.MaxInt64))
	}
	if count == 0 { // the data may then be any value
		return d.skip(3)
	}
	if !d.r.Is('[') {
		return unparsable("data", tritonjson.ErrArray)
	}
	switch t.DataType {
	case tensor.Invalid:
		return status.New(status.InvalidArg, "invalid datatype for input %s", t.Name)
	case tensor.FP16, tensor.BF16:
		return noHalfInput(t.DataType, t.Name)
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
		return nil, status.Wrap(err, status.Unavailable, "no memory for input '%s' of %d bytes: %w", t.Name, n, err)
	}
	return b, nil
}
