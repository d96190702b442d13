package rest

import (
	"encoding/binary"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// stringData reads a nested array of strings in two passes: the first checks and
// measures, the second writes. The core compares the number of strings with the
// shape.
func (d *Decoder) stringData(t *kserve.Tensor) error {
	start := d.r.Pos()
	size := 0
	err := eachString(&d.r, func() bool {
		n, ok := d.r.MeasureText()
		size += 4 + n
		return ok
	})
	if err != nil {
		return err
	}
	if err := d.checkSize(t, int64(size)); err != nil {
		return err
	}
	if size == 0 {
		return nil
	}
	b, err := d.memory(t, size)
	if err != nil {
		return err
	}
	dst := b.Bytes()[:0]
	d.r.Seek(start)
	err = eachString(&d.r, func() bool {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		var ok bool
		dst, ok = d.r.AppendText(dst)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return ok
	})
	if err != nil { // impossible after the first pass
		b.Release()
		return err
	}
	t.Data = tensor.NewData(b)
	return nil
}

// oneString reads a string that is not in an array.
func (d *Decoder) oneString(t *kserve.Tensor) error {
	s, err := d.r.Text()
	if err != nil {
		return errNoString(err)
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

// eachString walks a nested array; visit passes over the string at the cursor.
func eachString(r *tritonjson.Reader, visit func() bool) error {
	depth := 0
	for {
		r.Space()
		switch r.Peek() {
		case '[':
			if depth++; depth > maxDataDepth {
				return status.New(status.InvalidArg, "JSON nesting depth exceeds maximum allowed limit (%d)", maxDataDepth)
			}
			r.Enter()
			r.Space()
			if !r.Is(']') {
				continue
			}
		case '"':
			if !visit() {
				return r.Err()
			}
		default:
			return errNoString(tritonjson.ErrString)
		}
		var err error
		if depth, err = nextDepth(r, depth); err != nil || depth == 0 {
			return err
		}
	}
}

func errNoString(err error) error { return withContext("Unable to parse JSON bytes array", err) }
