package simulate

import (
	"math"
	"time"
)

// EarliestEnds returns the bound that no scheduler can beat on one instance: its element
// i is the earliest moment at which i+1 requests of a trace can have been answered, by
// the best schedule for just that number with all arrivals known in advance. Requests
// have one row, and cost does not fall with the rows.
//
// The bound is exact. Requests of one row are alike, so some best schedule for n of them
// takes the first n in their order, and its last batch is the last k: it starts when
// request n has arrived and the best schedule for the first n-k has ended.
func EarliestEnds(trace []Arrival, maxBatch int, cost func(rows int) time.Duration) []time.Duration {
	costs := make([]time.Duration, maxBatch+1)
	for k := 1; k <= maxBatch; k++ {
		costs[k] = cost(k)
	}
	ends := make([]time.Duration, len(trace)+1)
	for n := 1; n <= len(trace); n++ {
		best := time.Duration(math.MaxInt64)
		for k := 1; k <= min(n, maxBatch); k++ {
			best = min(best, max(ends[n-k], trace[n-1].At)+costs[k])
		}
		ends[n] = best
	}
	return ends[1:]
}
