package perf

import (
	"math"
	"slices"

	"triton/pkg/measure"
)

// Mean is a figure over the repeats of a level; latencies are in nanoseconds.
type Mean struct {
	Value float64
	// Interval is the 95 % confidence interval of Value, from how much the repeats differ. It is not known
	// with one repeat.
	Interval        Interval
	Lowest, Highest float64
}

// MeanOf returns the mean of the figures of repeats, at least one. Its interval takes them as independent
// draws of one normal distribution (Student, The probable error of a mean, Biometrika 6, 1908). No figure
// is negative, so neither is the end of the interval.
func MeanOf(values []float64) Mean {
	m := Mean{Lowest: slices.Min(values), Highest: slices.Max(values)}
	n := float64(len(values))
	for _, v := range values {
		m.Value += v / n
	}
	if len(values) < 2 {
		return m
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - m.Value) * (v - m.Value)
	}
	half := measure.StudentQuantile(0.975, n-1) * math.Sqrt(squares/(n-1)/n)
	m.Interval = Interval{max(0, m.Value-half), m.Value + half}
	return m
}

// Disagreement says that the repeats of a level differ by more than chance within them explains.
type Disagreement struct {
	Latency         bool // of the average latency, in nanoseconds; else of the throughput
	Lowest, Highest float64
	Within          float64 // the widest of the intervals of the single repeats, as a share: 0.03 is ±3 %
}

// Differ returns how far the highest is above the lowest, as a share of the lowest.
func (d Disagreement) Differ() float64 { return d.Highest/d.Lowest - 1 }

// leastDifference is the difference of repeats, as a share, below which nobody decides anything by it,
// however certain it is.
const leastDifference = 0.05

// Disagreement reports whether the repeats differ in throughput or else in average latency.
func (l *Repeated) Disagreement() (Disagreement, bool) {
	var values []float64
	var intervals []Interval
	for _, one := range l.Of {
		values, intervals = append(values, one.Throughput), append(intervals, one.ThroughputInterval)
	}
	if d, ok := disagreement(values, intervals); ok {
		return d, true
	}
	values, intervals = nil, nil
	for _, one := range l.Of {
		values, intervals = append(values, float64(one.AvgLatency)), append(intervals, one.AvgInterval)
	}
	d, ok := disagreement(values, intervals)
	d.Latency = true
	return d, ok
}

// disagreement tests whether values with these 95 % intervals are of one true value, at the level of 1 %
// (W. G. Cochran, The combination of estimates from different experiments, Biometrics 10, 1954).
func disagreement(values []float64, intervals []Interval) (Disagreement, bool) {
	var d Disagreement
	if len(values) < 2 {
		return d, false
	}
	d.Lowest, d.Highest = slices.Min(values), slices.Max(values)
	var weights, sum float64
	weight := make([]float64, len(values))
	for i, v := range values {
		width := intervals[i].Width(v)
		if math.IsInf(width, 1) || width <= 0 {
			return d, false
		}
		d.Within = max(d.Within, width)
		deviation := width * v / normal975
		weight[i] = 1 / (deviation * deviation)
		weights += weight[i]
		sum += weight[i] * v
	}
	q := 0.0
	for i, v := range values {
		q += weight[i] * (v - sum/weights) * (v - sum/weights)
	}
	return d, q > chiSquare99(len(values)-1) && d.Differ() > leastDifference
}

const (
	normal975 = 1.959963984540054 // quantiles of the normal distribution
	normal99  = 2.326347874040841
)

// chiSquare99 returns the 99 % quantile of the chi-square distribution with f degrees of freedom, to 5 %
// (E. B. Wilson, M. M. Hilferty, The distribution of chi-square, PNAS 17, 1931).
func chiSquare99(f int) float64 {
	n := float64(f)
	root := 1 - 2/(9*n) + normal99*math.Sqrt(2/(9*n))
	return n * root * root * root
}
