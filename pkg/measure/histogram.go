package measure

import (
	"math"
	"math/bits"
	"sync/atomic"
)

const (
	subBits = 4 // 16 buckets for each doubling: 6 % apart
	buckets = (64 - subBits) << subBits
)

// Histogram counts latencies in logarithmic buckets, for the display of a running
// measurement; its percentiles are accurate to about 6 %. One goroutine adds, any may
// read.
type Histogram struct{ counts [buckets]atomic.Uint64 }

func bucketOf(v int64) int {
	u := uint64(max(v, 0))
	if u < 1<<subBits {
		return int(u)
	}
	shift := bits.Len64(u) - 1 - subBits
	return (shift+1)<<subBits + int(u>>shift)&(1<<subBits-1)
}

// low returns the smallest value of bucket i.
func low(i int) int64 {
	if i < 1<<subBits {
		return int64(i)
	}
	shift := i>>subBits - 1
	return int64(1<<subBits+i&(1<<subBits-1)) << shift
}

// Add counts one value.
func (h *Histogram) Add(v int64) { h.counts[bucketOf(v)].Add(1) }

// Counts is a copy of a histogram or the sum of several.
type Counts struct {
	counts [buckets]uint64
	n      uint64
}

// Merge adds the counts of h.
func (c *Counts) Merge(h *Histogram) {
	for i := range h.counts {
		n := h.counts[i].Load()
		c.counts[i] += n
		c.n += n
	}
}

// Sub subtracts the counts of an earlier copy.
func (c *Counts) Sub(earlier *Counts) {
	for i, n := range earlier.counts {
		c.counts[i] -= n
	}
	c.n -= earlier.n
}

// Add counts one value.
func (c *Counts) Add(v int64) {
	c.counts[bucketOf(v)]++
	c.n++
}

// Bucket is the number N of values that are at least Low and less than High.
type Bucket struct {
	Low, High int64
	N         uint64
}

// Buckets returns the buckets that have values, in ascending order.
func (c *Counts) Buckets() []Bucket {
	var all []Bucket
	for i, n := range c.counts {
		if n == 0 {
			continue
		}
		b := Bucket{Low: low(i), High: math.MaxInt64, N: n}
		if i+1 < buckets {
			b.High = low(i + 1)
		}
		all = append(all, b)
	}
	return all
}

// N returns the number of values.
func (c *Counts) N() uint64 { return c.n }

// Percentile returns approximately percentile p, 0 without values.
func (c *Counts) Percentile(p float64) int64 {
	if c.n == 0 {
		return 0
	}
	nearest := rank(p, c.n)
	var seen uint64
	for i, n := range c.counts {
		seen += n
		if seen > nearest {
			return low(i)
		}
	}
	return 0
}
