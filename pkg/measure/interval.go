package measure

import "math"

// The 95 % confidence intervals of values that depend on each other use the method of batch means:
// the measurement is divided into batches of equal time, whose figures are nearly independent
// although consecutive latencies are not. 10 to 30 batches are enough (B. Schmeiser, Batch size
// effects in the analysis of simulation output, Operations Research 30, 1982). Batches that still
// depend on each other are joined, and what dependence is left widens the interval by (1+r)/(1-r),
// r being the correlation of adjacent batches (A. Tafazzoli, J. Wilson, Skart: a skewness- and
// autoregression-adjusted batch-means procedure, IIE Transactions 43, 2011).
const (
	mostBatches  = 30
	leastBatches = 10
	// batchSize is how many requests the batches have on average, at least.
	batchSize = 5
)

// Batches are the figures of consecutive batches of equal time.
type Batches struct {
	from, to int64
	counts   []float64 // requests
}

// DivideBatches divides the samples that ended in [from, to] into batches. It returns batches without
// figures if there are fewer than 50 samples.
func DivideBatches(samples []Sample, from, to int64) Batches {
	b := Batches{from: from, to: to}
	n := mostBatches
	switch {
	case to <= from || len(samples) < leastBatches*batchSize:
		return b
	case len(samples) < mostBatches*batchSize:
		n = leastBatches
	}
	b.counts = make([]float64, n)
	for i := range samples {
		b.counts[b.index(&samples[i])]++
	}
	return b
}

func (b *Batches) index(s *Sample) int {
	n := int64(len(b.counts))
	share := float64(s.End-b.from) / float64(b.to-b.from)
	return int(min(max(int64(share*float64(n)), 0), n-1))
}

// Uncertainty is how far a measured figure may be off.
type Uncertainty struct {
	// Half is half the width of the 95 % confidence interval; +Inf if there are too few samples.
	Half float64
	// Batches is the number of batches that it is computed from.
	Batches int
}

var unknown = Uncertainty{Half: math.Inf(1)}

// Count returns the uncertainty of the number of samples.
func (b *Batches) Count() Uncertainty {
	e := meanError(b.counts)
	e.Half *= float64(len(b.counts))
	return e
}

// Mean returns the uncertainty of the mean of value over the samples that were divided.
func (b *Batches) Mean(samples []Sample, value func(*Sample) float64) Uncertainty {
	if len(b.counts) == 0 {
		return unknown
	}
	sums := make([]float64, len(b.counts))
	total := 0.0
	for i := range samples {
		v := value(&samples[i])
		sums[b.index(&samples[i])] += v
		total += v
	}
	// The mean is the ratio of two sums that both vary. Its variance is that of the residuals,
	// to first order (W. Cochran, Sampling Techniques, chapter 6).
	mean := total / float64(len(samples))
	for i := range sums {
		sums[i] -= mean * b.counts[i]
	}
	e := meanError(sums)
	e.Half *= float64(len(sums)) / float64(len(samples))
	return e
}

// meanError returns the uncertainty of the mean of batches.
func meanError(batches []float64) Uncertainty {
	for _, joined := range []int{1, 2, 3} {
		n := len(batches) / joined
		if n < leastBatches {
			break
		}
		joint := join(batches, joined)
		r := correlation(joint)
		// The one-sided test of independence at the level of 10 %.
		if r > 1.282/math.Sqrt(float64(n)) && len(batches)/(joined+1) >= leastBatches {
			continue
		}
		r = min(max(r, 0), 0.9)
		variance := deviation2(joint) / float64(n) * (1 + r) / (1 - r)
		return Uncertainty{Half: StudentQuantile(0.975, float64(n-1)) * math.Sqrt(variance) / float64(joined), Batches: n}
	}
	return unknown
}

// join returns the sums of n consecutive values each.
func join(values []float64, n int) []float64 {
	joint := make([]float64, len(values)/n)
	for i := range joint {
		for _, v := range values[i*n : (i+1)*n] {
			joint[i] += v
		}
	}
	return joint
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation2 returns the sample variance.
func deviation2(values []float64) float64 {
	mean, sum := average(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(values)-1)
}

// correlation returns the correlation of adjacent values, 0 if all are equal.
func correlation(values []float64) float64 {
	mean := average(values)
	var lag, all float64
	for i, v := range values {
		all += (v - mean) * (v - mean)
		if i > 0 {
			lag += (v - mean) * (values[i-1] - mean)
		}
	}
	if all == 0 {
		return 0
	}
	return lag / all
}

// IndependentHalf returns half the width of the 95 % confidence interval of the share p percent of n
// independent samples.
func IndependentHalf(p float64, n int) float64 {
	p /= 100
	return 1.959963984540054 * math.Sqrt(p*(1-p)/float64(n))
}

// QuantileRanks returns the ranks, from 0, of the ends of the 95 % confidence interval of
// percentile p among n sorted samples. half is the uncertainty of the share of samples that are not
// above the percentile. An end outside the samples has the rank -1 or n. (R. Woodruff, Confidence
// intervals for medians and other position measures, JASA 47, 1952; P. Heidelberger, P. Lewis,
// Quantile estimation in dependent sequences, Operations Research 32, 1984.)
func QuantileRanks(p float64, n int, half float64) (low, high int) {
	if math.IsInf(half, 1) {
		return -1, n
	}
	p /= 100
	size := float64(n)
	low = int(math.Floor((p-half)*size)) - 1
	high = int(math.Ceil((p + half) * size))
	return max(low, -1), min(high, n)
}
