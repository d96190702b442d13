package model

import "triton/pkg/tensor"

// strides are the sizes of a dimension in memory, in bytes.
type strides struct {
	outer  int // number of runs of the whole dimension
	stride int // of one run
	inner  int // of one index of it
}

func stridesOf(shape tensor.Shape, at int, d tensor.DataType) strides {
	s := strides{outer: 1, inner: d.Size()}
	for _, n := range shape[:at] {
		s.outer *= int(n)
	}
	for _, n := range shape[at+1:] {
		s.inner *= int(n)
	}
	s.stride = int(shape[at]) * s.inner
	return s
}

// spread moves runs of that length, which are packed at the start of mem, to their
// positions, the last first, and fills up each.
func (s strides) spread(mem []byte, length int, fill []byte) {
	if len(mem) == 0 {
		return // outer is arbitrary
	}
	n := length * s.inner
	for row := s.outer - 1; row >= 0; row-- {
		run := mem[row*s.stride : (row+1)*s.stride]
		copy(run, mem[row*n:(row+1)*n])
		repeat(run[n:], fill)
	}
}

// repeat fills mem with an element.
func repeat(mem, element []byte) {
	if len(mem) == 0 {
		return
	}
	for done := copy(mem, element); done < len(mem); done *= 2 {
		copy(mem[done:], mem[:done])
	}
}

// compact is the reverse of spread: it packs the first n bytes of each run into dst, which
// may be whole itself.
func (s strides) compact(dst, whole []byte, n int) {
	for row := range s.outer {
		copy(dst[row*n:(row+1)*n], whole[row*s.stride:])
	}
}
