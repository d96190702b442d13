package memory

import (
	"slices"
	"time"

	"triton/analyzer/memory/footprint"
)

// compared returns what decides about a count: the throughput over its servers, with the load and the mean latencies of
// their measurements.
func compared(r *Result, count footprint.CountThroughput) Point {
	p := Point{Instances: count.Instances, Measurement: Measurement{Throughput: count.Throughput, Stable: true}}
	var p50, p99, n time.Duration
	for _, c := range r.Compared {
		if c.Instances == count.Instances {
			p.Load = c.Load
			p50, p99, n = p50+c.P50, p99+c.P99, n+1
		}
	}
	if n > 0 {
		p.P50, p.P99 = p50/n, p99/n
	}
	return p
}

// decides reports whether a setting has the load and the count of a measurement that decides, whose figure counts then.
func decides(r *Result, p Point) (footprint.CountThroughput, bool) {
	counts := r.Footprint.Answer.Choice.Counts
	if len(counts) < 2 {
		return footprint.CountThroughput{}, false
	}
	i := slices.IndexFunc(counts, func(c footprint.CountThroughput) bool {
		return c.Instances == p.Instances && c.Throughput > 0 && compared(r, c).Load == p.Load
	})
	if i < 0 {
		return footprint.CountThroughput{}, false
	}
	return counts[i], true
}
