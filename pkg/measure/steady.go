package measure

import "math"

// Steady returns how many values at the beginning of a series do not belong to its steady state, by
// the rule MSER-5: of all numbers of groups of five values, the one whose removal leaves the mean
// of the rest with the least squared standard error. ok is false if it is more than half of the
// series, which then has no steady state. (K. P. White, M. Cobb, S. Spratt, A comparison of five
// steady-state truncation heuristics for simulation, Winter Simulation Conference 2000.)
func Steady(series []float64) (skip int, ok bool) {
	groups := join(series, mserGroup)
	n := len(groups)
	if n < 2*mserGroup {
		return 0, true
	}
	// From the end to the beginning, mean and sum of squared deviations of the groups that stay
	// (Welford).
	var mean, squares float64
	best, least := 0, math.Inf(1)
	for d := n - 1; d >= 0; d-- {
		left := float64(n - d)
		off := groups[d] - mean
		mean += off / left
		squares += off * (groups[d] - mean)
		if left < mserGroup { // a few groups agree by chance
			continue
		}
		if error2 := squares / (left * left); error2 <= least {
			best, least = d, error2
		}
	}
	if best == 0 || !differ(groups[:best], groups[best:]) {
		return 0, true
	}
	return best * mserGroup, best <= n/2
}

// differ reports whether the mean of the beginning differs from that of the rest by more than
// four standard errors. Without this condition the rule removes what is high or low by chance, and
// what stays varies less than it should.
func differ(begin, rest []float64) bool {
	r := min(max(correlation(rest), 0), 0.9)
	error2 := deviation2(rest) * (1/float64(len(begin)) + 1/float64(len(rest))) * (1 + r) / (1 - r)
	return math.Abs(average(begin)-average(rest)) > 4*math.Sqrt(error2)
}

const mserGroup = 5
