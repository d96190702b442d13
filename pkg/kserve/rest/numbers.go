package rest

import (
	"encoding/binary"
	"errors"
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

const errCount = "Failed to parse 'data' field: shape does not match true shape"

// numberData reads the array of count numbers or booleans at the cursor.
func (d *Decoder) numberData(t *kserve.Tensor, count int) error {
	// Each element takes at least two bytes of text, so no memory is taken for a shape with
	// more elements than that.
	capacity := min(count, d.r.Left()/2+1)
	size := t.DataType.Size()
	b, err := d.memory(t, capacity*size)
	if err != nil {
		return err
	}
	n := numberReader{r: &d.r, dst: b.Bytes(), kind: t.DataType, name: t.Name}
	err = n.array()
	if err == nil && n.end != count*size {
		err = malformed(errCount)
	}
	if err != nil {
		b.Release()
		return err
	}
	t.Data = tensor.NewData(b)
	return nil
}

// oneNumber reads a number or boolean that is not in an array.
func (d *Decoder) oneNumber(t *kserve.Tensor) error {
	b, err := d.memory(t, t.DataType.Size())
	if err != nil {
		return err
	}
	n := numberReader{r: &d.r, dst: b.Bytes(), kind: t.DataType, name: t.Name}
	if err := n.element(); err != nil {
		b.Release()
		return err
	}
	t.Data = tensor.NewData(b)
	return nil
}

// numberReader reads numbers or booleans into memory.
type numberReader struct {
	r    *tritonjson.Reader
	dst  []byte
	end  int // of the elements in dst
	kind tensor.DataType
	name string // of the input, for errors
}

// array reads the array at the cursor, with any nesting.
func (n *numberReader) array() error {
	r := n.r
	depth := 0
	for {
		n.plain()
		r.Space()
		if r.Is('[') {
			if depth++; depth > maxDataDepth {
				return status.New(status.InvalidArg, "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit (%d)", maxDataDepth)
			}
			r.Enter()
			r.Space()
			if !r.Is(']') {
				continue
			}
		} else if err := n.element(); err != nil {
			return err
		}
		var err error
		if depth, err = nextDepth(r, depth); err != nil || depth == 0 {
			return err
		}
	}
}

// nextDepth skips what follows an element or an empty array: a comma, or the ends of arrays
// and a comma. It returns the depth of the next element, or 0 after the end of the outermost
// array.
func nextDepth(r *tritonjson.Reader, depth int) (int, error) {
	for {
		more, ok := r.Separator()
		switch {
		case !ok:
			return 0, r.Err()
		case more:
			return depth, nil
		}
		if depth--; depth == 0 {
			return 0, nil
		}
	}
}

// plain reads elements until the first one that is not in the plainest form.
func (n *numberReader) plain() {
	switch n.kind {
	case tensor.Bool:
	case tensor.FP32, tensor.FP64:
		n.end += n.r.PlainFloats(n.dst[n.end:], n.kind.Size())
	default:
		n.end += n.r.PlainInts(n.dst[n.end:], n.kind.Size(), n.kind >= tensor.Int8)
	}
}

func (n *numberReader) element() error {
	size := n.kind.Size()
	end := n.end + size
	if end > len(n.dst) {
		return malformed(errCount)
	}
	at := n.r.Pos()
	err := n.read(n.dst[n.end:end])
	if err != nil && errors.Is(err, tritonjson.ErrRange) {
		e := tensor.RangeError{Element: n.end / size, Number: string(n.r.Since(at)), Type: n.kind}
		return status.New(status.InvalidArg, "Unable to parse 'data' of input '%s': %w", n.name, &e)
	}
	if err != nil {
		return unparsable("data", err)
	}
	n.end = end
	return nil
}

func (n *numberReader) read(to []byte) error {
	switch n.kind {
	case tensor.Bool:
		v, err := n.r.Bool()
		to[0] = 0
		if v {
			to[0] = 1
		}
		return err
	case tensor.FP32:
		v, err := n.r.Float32()
		binary.LittleEndian.PutUint32(to, math.Float32bits(v))
		return err
	case tensor.FP64:
		v, err := n.r.Float64()
		binary.LittleEndian.PutUint64(to, math.Float64bits(v))
		return err
	}
	low, high, _ := n.kind.IntegerRange()
	v, err := n.r.IntBetween(low, high)
	tensor.AppendUint(to[:0], v, len(to))
	return err
}
