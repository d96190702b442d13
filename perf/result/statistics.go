package result

import (
	"math"
)

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

// twoSided returns the probability that Student's t is at least as far from 0.
func twoSided(t, freedom float64) float64 {
	return incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}

// quantile returns the t that is exceeded on both sides together with a probability.
func quantile(p, freedom float64) float64 {
	low, high := 0.0, 1.0
	for twoSided(high, freedom) > p && high < 1e12 {
		high *= 2
	}
	for range 60 {
		middle := (low + high) / 2
		if twoSided(middle, freedom) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// incompleteBeta returns the regularized incomplete beta function I_x(a, b), by its continued
// fraction (NIST Digital Library of Mathematical Functions, 8.17.22).
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	const tiny = 1e-300
	away := func(v float64) float64 { // from 0
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	sum := d
	for i := 1; i <= 500; i++ {
		m := float64(i)
		for _, term := range []float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / away(1+term*d)
			c = away(1 + term/c)
			sum *= c * d
		}
		if math.Abs(c*d-1) < 1e-14 {
			break
		}
	}
	return front * sum / a
}
