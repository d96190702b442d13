package adaptive

import (
	"math/bits"
	"time"
)

// latencies counts latencies by size, in steps of at most 1/32.
type latencies struct {
	counts [(longest-unit-6)*steps + 2*steps]uint32
	n      int
}

const (
	steps = 32 // per power of two
	// As powers of two of nanoseconds: what is finer is not told apart, what is
	// longer counts as that.
	unit, longest = 8, 52
)

func (l *latencies) add(ns int64) {
	l.counts[step(ns)]++
	l.n++
}

// step is the place of a latency; the first two powers of two share theirs.
func step(ns int64) int {
	v := uint64(min(max(ns, 0), 1<<longest-1)) >> unit
	e := max(bits.Len64(v)-6, 0)
	return e*steps + int(v>>e)
}

// end is the first latency beyond a place.
func end(i int) int64 {
	e := max(i/steps-1, 0)
	return int64(i-e*steps+1) << e << unit
}

// p99 is not below the 99th percentile, and hardly above it.
func (l *latencies) p99() time.Duration {
	above := l.n - (99*l.n+99)/100
	for i := len(l.counts) - 1; i >= 0; i-- {
		above -= int(l.counts[i])
		if above < 0 {
			return time.Duration(end(i))
		}
	}
	return 0
}
