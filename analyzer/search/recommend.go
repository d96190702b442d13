package search

import "time"

// Outcome is one measured setting.
type Outcome struct {
	Instances int
	Load
	Throughput float64       // inferences per second
	P99        time.Duration // of a request
	Bytes      int64         // memory of the whole server
}

// Limits are the requirements of a recommendation.
type Limits struct {
	P99 time.Duration // 0: no limit
	// Tolerance is the share of the best throughput that a cheaper setting may
	// lose. Throughput varies from run to run, memory does not.
	Tolerance float64
}

// Allow reports whether a setting is within the limits.
func (l Limits) Allow(o Outcome) bool {
	return l.P99 == 0 || o.P99 <= l.P99
}

// Recommend chooses, among the settings within the limits whose throughput is
// within the tolerance of the best, the one with the fewest instances, then the
// least memory, the best throughput and the lowest latency. It returns its index in
// outcomes, or -1 if no setting is within the limits.
func Recommend(outcomes []Outcome, limits Limits) int {
	best := 0.0
	for _, o := range outcomes {
		if limits.Allow(o) {
			best = max(best, o.Throughput)
		}
	}
	chosen := -1
	for i, o := range outcomes {
		if !limits.Allow(o) || o.Throughput < best*(1-limits.Tolerance) {
			continue
		}
		if chosen < 0 || cheaper(o, outcomes[chosen]) {
			chosen = i
		}
	}
	return chosen
}

func cheaper(a, b Outcome) bool {
	switch {
	case a.Instances != b.Instances:
		return a.Instances < b.Instances
	case a.Bytes != b.Bytes:
		return a.Bytes < b.Bytes
	case a.Throughput != b.Throughput:
		return a.Throughput > b.Throughput
	}
	return a.P99 < b.P99
}
