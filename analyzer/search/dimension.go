package search

import (
	"fmt"
	"math/bits"
	"slices"
)

// The last indices of dimensions without an upper limit: exponential and linear.
const (
	unlimited       = 30
	unlimitedLinear = 1 << 12
)

// dimension is one thing that the climb varies: an index, and the value that it means.
type dimension struct {
	exponential bool
	first, last int // indices
	limits      Range
	batch       bool // max_batch_size; otherwise the instance count
}

// value returns the value of an index.
func (d dimension) value(index int) int {
	n := index + 1
	if d.exponential {
		n = 1 << min(index, unlimited)
	}
	return d.limits.Clamp(n)
}

// dimensionsOf returns the dimensions of a model in their order. composing reports that it is part
// of an ensemble or a BLS model, of which the user's list of instance counts is the limit.
func dimensionsOf(s Space, m Model, composing bool) ([]dimension, error) {
	var dims []dimension
	if m.Batching() {
		dims = append(dims, bounded(dimension{exponential: true, batch: true}, s.ModelBatch, s.Unbounded))
	}
	count := bounded(dimension{}, s.Instances, s.Unbounded)
	if list := m.Counts(); composing && len(list) > 0 {
		var err error
		if count, err = listedDimension(list); err != nil {
			return nil, fmt.Errorf("model %q: %w", m.Name, err)
		}
	}
	return append(dims, count), nil
}

// bounded limits a dimension to the indices with distinct values.
func bounded(d dimension, r Range, unbounded bool) dimension {
	if r.Soft && unbounded {
		r = Range{Min: 1, Max: 1 << unlimited}
	}
	d.limits = r
	if d.exponential {
		d.first = bits.Len(uint(r.Min)) - 1
		d.last = bits.Len(uint(r.Max - 1)) // the first power at or above Max
	} else {
		d.first, d.last = r.Min-1, r.Max-1
	}
	most := unlimitedLinear
	if d.exponential {
		most = unlimited
	}
	d.last = max(d.first, min(d.last, most))
	return d
}

// listedDimension returns the dimension of a list of instance counts: powers of two, of which some may be
// missing, or all numbers of a range.
func listedDimension(list []int) (dimension, error) {
	sorted := ascending(list)
	r := Range{Min: sorted[0], Max: sorted[len(sorted)-1]}
	power := func(n int) bool { return n > 0 && bits.OnesCount(uint(n)) == 1 }
	switch {
	case !slices.ContainsFunc(sorted, func(n int) bool { return !power(n) }):
		return bounded(dimension{exponential: true}, r, false), nil
	case r.Min > 0 && r.Max-r.Min+1 == len(sorted):
		return bounded(dimension{}, r, false), nil
	}
	return dimension{}, fmt.Errorf("instance count list %v is not compatible with Quick search mode: "+
		"list powers of two, such as [1, 2, 4], or a contiguous range, such as [2, 3, 4]", list)
}
