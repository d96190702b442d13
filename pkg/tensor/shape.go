package tensor

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Shape is the dimensions of a tensor, outermost first. In configurations and
// metadata -1 is a dimension that may vary; data has none.
type Shape []int64

// Errors of the shape arithmetic. Callers add the tensor's name.
var (
	ErrBadDim   = errors.New("negative dimension")
	ErrOverflow = errors.New("element count exceeds 9223372036854775807")
)

// Elements returns the number of elements; 1 for a scalar (no dimensions).
func (s Shape) Elements() (int64, error) {
	n, zero := uint64(1), false
	over := false
	for _, d := range s {
		if d < 0 {
			return 0, ErrBadDim
		}
		if d == 0 {
			zero = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			over = true
			lo = 1
		}
		n = lo
	}
	switch {
	case zero:
		return 0, nil
	case over:
		return 0, ErrOverflow
	}
	return int64(n), nil
}

// ByteSize returns the size in bytes of fixed-size elements of this shape.
func (s Shape) ByteSize(d DataType) (int64, error) {
	n, err := s.Elements()
	if err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(n), uint64(d.Size()))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, ErrOverflow
	}
	return int64(lo), nil
}

// Matches reports whether the concrete shape s fits the pattern p, in which -1 matches
// any dimension.
func (s Shape) Matches(p Shape) bool {
	if len(s) != len(p) {
		return false
	}
	for i, d := range p {
		if d != -1 && d != s[i] {
			return false
		}
	}
	return true
}

// Agrees reports whether two shapes can be of one tensor: -1 in either agrees with any dimension.
func (s Shape) Agrees(t Shape) bool {
	return slices.EqualFunc(s, t, func(a, b int64) bool { return a == b || a == -1 || b == -1 })
}

// Equal compares two shapes.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy that shares no memory.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// Append writes the text form "[2,-1]" to b.
func (s Shape) Append(b []byte) []byte {
	b = append(b, '[')
	for i, d := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, d, 10)
	}
	return append(b, ']')
}

// String returns the text form used in messages: "[2,-1]".
func (s Shape) String() string { return string(s.Append(nil)) }
