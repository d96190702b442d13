package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// BYTES tensors are a run of elements, each a uint32 little-endian length and
// that many bytes.

// ErrTruncated reports that the bytes end inside an element.
var ErrTruncated = errors.New("BYTES tensor is cut off")

// AppendElement writes one element of a BYTES tensor.
func AppendElement(b []byte, element []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(element)))
	return append(b, element...)
}

// AppendElementString writes one element of a BYTES tensor.
func AppendElementString(b []byte, element string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(element)))
	return append(b, element...)
}

// Elements iterates over the elements of a BYTES tensor; the slices are views. The
// iteration ends with a nil element and an error if the bytes are truncated.
func Elements(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := 0; len(data) > 0; i++ {
			if len(data) < 4 {
				yield(nil, fmt.Errorf("element %d: %w: %d bytes instead of a 4-byte length", i, ErrTruncated, len(data)))
				return
			}
			n := uint64(binary.LittleEndian.Uint32(data))
			if n > uint64(len(data)-4) {
				yield(nil, fmt.Errorf("element %d: %w: length %d but %d bytes are left", i, ErrTruncated, n, len(data)-4))
				return
			}
			if !yield(data[4:4+n:4+n], nil) {
				return
			}
			data = data[4+n:]
		}
	}
}

// CountElements returns the number of elements of a BYTES tensor.
func CountElements(data []byte) (int, error) {
	n := 0
	for _, err := range Elements(data) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
