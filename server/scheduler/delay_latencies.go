package scheduler

import (
	"math/bits"
	"time"
)

// latencies is a histogram of latencies whose buckets are at most 1/32 wide, relative to
// their values.
type latencies struct {
	counts [(maxExponent-minExponent-6)*bucketsPerOctave + 2*bucketsPerOctave]uint32
	n      int
}

const (
	bucketsPerOctave = 32 // per power of two
	// Resolution and largest latency, as exponents of two of nanoseconds. Longer latencies
	// are in the last bucket.
	minExponent, maxExponent = 8, 52
)

func (l *latencies) add(ns int64) {
	l.counts[bucketOf(ns)]++
	l.n++
}

// bucketOf returns the bucket of a latency.
func bucketOf(ns int64) int {
	v := uint64(min(max(ns, 0), 1<<maxExponent-1)) >> minExponent
	e := max(bits.Len64(v)-6, 0)
	return e*bucketsPerOctave + int(v>>e)
}

// bucketEnd returns the upper bound of a bucket, which is in the next one.
func bucketEnd(i int) int64 {
	e := max(i/bucketsPerOctave-1, 0)
	return int64(i-e*bucketsPerOctave+1) << e << minExponent
}

// p99 returns an upper bound that is close to the 99th percentile.
func (l *latencies) p99() time.Duration {
	above := l.n - (99*l.n+99)/100
	for i := len(l.counts) - 1; i >= 0; i-- {
		above -= int(l.counts[i])
		if above < 0 {
			return time.Duration(bucketEnd(i))
		}
	}
	return 0
}
