package rest

import (
	"encoding/binary"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// stringData reads a nested array of strings in two passes: one that checks and
// measures, one that writes. The number of strings is the core's to compare
// with the shape.
func (d *Decoder) stringData(t *kserve.Tensor) error {
	start := d.r.i
	size := 0
	err := d.r.eachString(func() bool {
		n, ok := d.r.measureString()
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
	d.r.i = start
	err = d.r.eachString(func() bool {
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		var ok bool
		dst, ok = d.r.appendString(dst)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return ok
	})
	if err != nil { // not after the first pass
		b.Release()
		return err
	}
	t.Data = tensor.NewData(b)
	return nil
}

// eachString walks a nested array; visit passes over the string at the cursor.
func (r *reader) eachString(visit func() bool) error {
	depth := 0
	for {
		r.space()
		switch r.peek() {
		case '[':
			if depth++; depth > maxDataDepth {
				return status.New(status.InvalidArg, "JSON nesting depth exceeds maximum allowed limit (%d)", maxDataDepth)
			}
			r.i++
			r.space()
			if !r.is(']') {
				continue
			}
		case '"':
			if !visit() {
				return r.err()
			}
		default:
			return within("Unable to parse JSON bytes array", errString)
		}
		for {
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
