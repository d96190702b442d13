// Package measure records and computes the figures of a measurement, without any
// policy: recorders that workers write to, the samples of a window, averages and
// percentiles as perf_analyzer computes them, their 95 % confidence intervals, where the
// steady state begins, and a running histogram for display.
package measure

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// Mean returns the integer mean of latencies, 0 without any.
func Mean(latencies []int64) int64 {
	if len(latencies) == 0 {
		return 0
	}
	var sum int64
	for _, l := range latencies {
		sum += l
	}
	return sum / int64(len(latencies))
}

// Median returns the median of values, which it sorts. There is at least one.
func Median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

// StdDevMicros returns the sample standard deviation of nanoseconds in whole
// microseconds. For fewer than two samples it returns MaxUint64, as perf_analyzer
// does.
func StdDevMicros(latencies []int64) uint64 {
	n := uint64(len(latencies))
	if n < 2 {
		return math.MaxUint64
	}
	mean := Mean(latencies)
	var hi, lo uint64 // 128 bits: squares of seconds in nanoseconds fill 64 quickly
	for _, l := range latencies {
		d := uint64(max(l-mean, mean-l))
		h, w := bits.Mul64(d, d)
		var carry uint64
		lo, carry = bits.Add64(lo, w, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	if hi >= n-1 { // the quotient itself needs more than 64 bits
		sum := new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64)
		sum.Add(sum, new(big.Int).SetUint64(lo)).Div(sum, new(big.Int).SetUint64(n-1))
		return sum.Sqrt(sum).Uint64() / 1000
	}
	variance, _ := bits.Div64(hi, lo, n-1)
	return uint64(math.Sqrt(float64(variance)) / 1000)
}

// Percentile returns the nearest-rank percentile p, 0 to 100, of sorted values, 0
// without any.
func Percentile(sorted []int64, p float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[rank(p, uint64(len(sorted)))]
}

// rank returns the index of percentile p among n sorted values, n > 0.
func rank(p float64, n uint64) uint64 {
	return min(uint64(max(p, 0)/100*float64(n-1)+0.5), n-1)
}

// Throughput returns a count per second in the precision that perf_analyzer
// prints.
func Throughput(count uint64, ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	seconds := float32(float64(ns) / 1e9)
	return float64(float32(count) / seconds)
}
