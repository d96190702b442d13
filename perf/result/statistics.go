package result

import "math"

// estimate is a figure with the standard error of its value.
type estimate struct {
	value   float64
	err     float64
	freedom float64 // degrees of freedom of err; 0: err is not known
}

// leastMoments is the least number of moments that an error is computed from.
const leastMoments = 3

// estimateOf returns a figure of a level. A figure that the level does not have is not a number.
func estimateOf(l *Level, figure string) estimate {
	e := estimate{value: math.NaN()}
	if l.Requests == 0 {
		return e
	}
	switch figure {
	case Throughput:
		e.value = l.Throughput
		var rates []float64
		for _, m := range l.Timeline {
			if m.DurationS > 0 {
				rates = append(rates, float64(m.Requests)/m.DurationS)
			}
		}
		// Moments count requests, the figure counts inferences.
		if mean := meanOf(rates); mean > 0 {
			e.err, e.freedom = meanError(rates, mean)
			e.err *= e.value / mean
		}
	case Average:
		e.value = l.Latency.AvgUs
		var means []float64
		for _, m := range l.Timeline {
			if m.Requests > 0 {
				means = append(means, m.Latency.AvgUs)
			}
		}
		e.err, e.freedom = meanError(means, meanOf(means))
	default:
		e.setPercentile(l, figure)
	}
	return e
}

func (e *estimate) setPercentile(l *Level, figure string) {
	p, _ := percentileOf(figure)
	us, ok := l.Latency.Us(p)
	if !ok {
		return
	}
	e.value = us
	requests, sections := 0, []float64(nil)
	for _, m := range l.Timeline {
		if section, ok := m.Latency.Us(p); ok {
			sections = append(sections, section)
			requests += m.Requests
		}
	}
	// With fewer requests the percentile of a section is its maximum, which is no estimate of
	// the percentile.
	if n := len(sections); n > 0 && float64(requests)/float64(n)*(1-p/100) >= 0.99 {
		e.err, e.freedom = meanError(sections, us)
	}
}

// meanError returns the standard error of the mean of values in the order of time, and its
// degrees of freedom. center is what the values vary around.
func meanError(values []float64, center float64) (err, freedom float64) {
	n := float64(len(values))
	if len(values) < leastMoments {
		return 0, 0
	}
	var all, lag float64
	for i, v := range values {
		all += (v - center) * (v - center)
		if i > 0 {
			lag += (v - center) * (values[i-1] - center)
		}
	}
	if all == 0 {
		return 0, n - 1
	}
	r := min(max(lag/all, 0), 0.95)
	effective := max(2, n*(1-r)/(1+r))
	return math.Sqrt(all / (n - 1) / effective), effective - 1
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(1, float64(len(values)))
}
