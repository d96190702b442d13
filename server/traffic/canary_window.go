package traffic

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// The buckets of a histogram of latencies in nanoseconds: each power of two is divided into
// subBuckets, so a bound is at most 1/subBuckets too high.
const (
	subBits    = 5
	subBuckets = 1 << subBits
	numBuckets = (64 - subBits + 1) * subBuckets
)

// canaryWindow counts the answers of one target in one step. Requests in flight at the end of the
// step are counted in the window in which they were chosen.
type canaryWindow struct {
	requests atomic.Int64 // incremented last
	failed   atomic.Int64
	latency  [numBuckets]atomic.Int64 // of successful requests
}

// record counts an answer.
func (w *canaryWindow) record(ns int64, failed bool) {
	if failed {
		w.failed.Add(1)
	} else {
		w.latency[latencyBucket(uint64(max(ns, 0)))].Add(1)
	}
	w.requests.Add(1)
}

func latencyBucket(ns uint64) int {
	if ns < subBuckets {
		return int(ns)
	}
	shift := bits.Len64(ns) - 1 - subBits
	return (shift+1)*subBuckets + int(ns>>shift) - subBuckets
}

// upperBound returns the highest latency of a bucket.
func upperBound(b int) float64 {
	if b < subBuckets {
		return float64(b)
	}
	shift := b/subBuckets - 1
	return math.Ldexp(float64(b%subBuckets+subBuckets+1), shift) - 1
}

// lowerBound returns the lowest latency of a bucket.
func lowerBound(b int) float64 {
	if b < subBuckets {
		return float64(b)
	}
	return math.Ldexp(float64(b%subBuckets+subBuckets), b/subBuckets-1)
}

// canarySample is a copy of a window.
type canarySample struct {
	requests, failed int64
	succeeded        int64
	latency          []int64
}

func (w *canaryWindow) sample() canarySample {
	s := canarySample{requests: w.requests.Load(), latency: make([]int64, numBuckets)}
	s.failed = min(w.failed.Load(), s.requests)
	for i := range w.latency {
		s.latency[i] = w.latency[i].Load()
		s.succeeded += s.latency[i]
	}
	return s
}

// bucketAt returns the bucket of the latency with a rank from 1.
func (s *canarySample) bucketAt(rank int64) int {
	for b, n := range s.latency {
		if rank -= n; rank <= 0 {
			return b
		}
	}
	return numBuckets - 1
}
