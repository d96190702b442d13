package perf

import "math"

// point holds the figures of a window that decide stability.
type point struct {
	throughput float64
	latency    int64 // nanoseconds
}

// failedPoint is the point of a window that failed: it is never stable and exceeds every
// latency limit.
var failedPoint = point{0, math.MaxInt64}

// windowCount is how many consecutive windows must agree.
const windowCount = 3

// stable reports whether the last windows agree within the threshold.
func stable(history []point, windows int, threshold float64, checkLatency bool) bool {
	if len(history) < windows {
		return false
	}
	last := history[len(history)-windows:]
	low, high := last[0], last[0]
	for _, p := range last {
		if p.throughput == 0 {
			return false
		}
		low.throughput, high.throughput = min(low.throughput, p.throughput), max(high.throughput, p.throughput)
		low.latency, high.latency = min(low.latency, p.latency), max(high.latency, p.latency)
	}
	if high.throughput/low.throughput > 1+threshold {
		return false
	}
	return !checkLatency || float64(high.latency)/float64(low.latency) <= 1+threshold
}

// exceeded reports whether a recent window has reached the latency limit, so
// that the level cannot meet it. Limit 0 means no limit.
func exceeded(history []point, windows int, limitNs int64) bool {
	if limitNs == 0 || len(history) < windows {
		return false
	}
	for _, p := range history[len(history)-windows:] {
		if p.latency >= limitNs {
			return true
		}
	}
	return false
}
