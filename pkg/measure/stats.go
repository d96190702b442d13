// Package measure holds the numbers of a measurement without any policy:
// recorders that workers write to, windows cut out of what they recorded,
// averages and percentiles as perf_analyzer computes them, a running histogram
// for display, and a reader of the Prometheus text format.
package measure

import (
	"math"
	"math/big"
	"math/bits"
)

// Mean is the integer mean of latencies; 0 of none.
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

// StdDevMicros is the sample standard deviation of nanoseconds in whole
// microseconds. One sample has none; perf_analyzer reports MaxUint64 then.
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

// Percentile is the nearest-rank percentile p, 0 to 100, of sorted values; 0 of
// none.
func Percentile(sorted []int64, p int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(float64(p)/100*float64(len(sorted)-1) + 0.5)
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// Throughput is a count per second in the precision that perf_analyzer prints.
func Throughput(count uint64, ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	seconds := float32(float64(ns) / 1e9)
	return float64(float32(count) / seconds)
}
