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
			p.Stable = p.Stable && c.Stable
		}
	}
	if n > 0 {
		p.P50, p.P99 = p50/n, p99/n
	}
	return p
}

// Deciding returns the measurements that decide between instance counts, one for each count that gave anything; none if
// no counts were compared.
func (r *Result) Deciding() (all []Point) {
	counts := r.Footprint.Answer.Choice.Counts
	if len(counts) < 2 {
		return nil
	}
	for _, c := range counts {
		if c.Throughput > 0 {
			all = append(all, compared(r, c))
		}
	}
	return all
}

// recommendedPoint returns the setting to recommend: the best of the user's or, for a count with which they were not
// measured, the measurement that decides.
func recommendedPoint(r *Result) *Point {
	switch {
	case r.Recommended == nil:
		return nil
	case r.Recommended.Point != nil:
		return r.Recommended.Point
	}
	for _, p := range r.Deciding() {
		if p.Instances == r.Recommended.Instances {
			return &p
		}
	}
	return nil
}

// decides returns the measurement that decides with the load and the count of a setting, whose figure counts then.
func decides(r *Result, p Point) (Point, bool) {
	all := r.Deciding()
	i := slices.IndexFunc(all, func(c Point) bool { return c.Instances == p.Instances && c.Load == p.Load })
	if i < 0 {
		return Point{}, false
	}
	return all[i], true
}
