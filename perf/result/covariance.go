package result

import (
	"math"
	"slices"
)

// slope is how much a figure changes with the pace of the machine within the sides, log by log. The zero slope changes
// nothing.
type slope struct {
	value, err float64
	// centerA and centerB are the mean paces of the sides.
	centerA, centerB float64
}

const (
	// clearSlope is how many standard errors a slope has to have.
	clearSlope = 2
	// outside is the share of the lowest, and of the highest, values of a side that count as the next ones: a tenth of
	// the measurements of the pace are far off, because a processor was away for a while.
	outside = 0.1
)

// slopeOf returns the slope of a figure over the pace, one for both sides, by the analysis of covariance (R. Fisher, Statistical
// Methods for Research Workers, 1932). It is estimated within the sides, so that a difference between them is not in it, and zero
// unless it is clear and of the sign that a faster machine gives: more throughput, shorter latencies. The error of the measured
// pace makes it too small, never too large (W. Fuller, Measurement Error Models, 1987), so that what is left of the pace is
// still in the figures.
func slopeOf(a, b sample, figure string) slope {
	if len(a.paces) < enoughPaces || len(b.paces) < enoughPaces {
		return slope{}
	}
	var xx, xy, yy float64
	var centers [2]float64
	for i, s := range []sample{a, b} {
		xs, ys := limited(s.paces), limited(s.logs)
		x0, y0 := meanOf(xs), meanOf(ys)
		centers[i] = x0
		for k, x := range xs {
			xx += (x - x0) * (x - x0)
			xy += (x - x0) * (ys[k] - y0)
			yy += (ys[k] - y0) * (ys[k] - y0)
		}
	}
	sign := 1.0
	if figure != Throughput {
		sign = -1
	}
	if xx == 0 || sign*xy <= 0 {
		return slope{}
	}
	s := slope{value: xy / xx, centerA: centers[0], centerB: centers[1]}
	s.err = math.Sqrt(max(0, yy-s.value*xy) / float64(len(a.logs)+len(b.logs)-3) / xx)
	if sign*s.value < clearSlope*s.err {
		return slope{}
	}
	s.value = sign * min(sign*s.value, machineMatters)
	return s
}

// limited returns the values with the outermost ones pulled in.
func limited(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	k := int(outside * float64(len(values)))
	all := slices.Clone(values)
	for i, v := range all {
		all[i] = min(max(v, sorted[k]), sorted[len(sorted)-1-k])
	}
	return all
}

// at returns the sample as it would be if the machine had had the mean pace of both sides all the time.
func (s sample) at(l slope) sample {
	if l.value == 0 {
		return s
	}
	both := (l.centerA + l.centerB) / 2
	s.logs = slices.Clone(s.logs)
	for i, x := range limited(s.paces) {
		s.logs[i] -= l.value * (x - both)
	}
	s.center = meanOf(s.logs)
	s.fitted = 0.5
	return s
}
