package measure_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

// law is a server with one processor, Poisson arrivals at 1 per second and known results.
type law struct {
	name     string
	service  func(*rand.Rand) float64
	mean     float64 // response time
	quantile func(p float64) float64
}

const second = 1e9

// queue returns the samples of a run of length seconds of the steady state: Lindley's recursion
// after a long warm-up.
func (l law) queue(rng *rand.Rand, length float64) []measure.Sample {
	var samples []measure.Sample
	const warm = 3000.0
	var at, wait float64
	for at < warm+length {
		gap := rng.ExpFloat64()
		at += gap
		wait = max(0, wait-gap)
		wait += l.service(rng)
		if end := at + wait; end >= warm && end < warm+length {
			samples = append(samples, measure.Sample{End: int64((end - warm) * second), Latency: int64(wait * second)})
		}
	}
	return samples
}

func laws() []law {
	mm1 := func(load float64) law {
		rate := 1/load - 1 // of the exponential response time
		return law{
			"M/M/1", func(r *rand.Rand) float64 { return load * r.ExpFloat64() }, 1 / rate,
			func(p float64) float64 { return -math.Log(1-p/100) / rate },
		}
	}
	return []law{mm1(0.3), mm1(0.5), mm1(0.7)}
}

func TestCoverage(t *testing.T) {
	const runs = 400
	for _, l := range laws() {
		for _, length := range []float64{1000, 5000, 20000, 100000} {
			var rate, mean int
			ps := []float64{50, 90, 99, 99.9}
			hit := make([]int, len(ps))
			width := 0.0
			for seed := range uint64(runs) {
				s := l.queue(rand.New(rand.NewPCG(seed, 1)), length)
				b := measure.Divide(s, 0, int64(length*second))
				n := float64(len(s))
				if e := b.Count(); math.Abs(n/length-1) <= e.Half/length {
					rate++
				}
				sum := 0.0
				for i := range s {
					sum += float64(s[i].Latency)
				}
				e := b.Mean(s, func(s *measure.Sample) float64 { return float64(s.Latency) })
				if math.Abs(sum/n-l.mean*second) <= e.Half {
					mean++
				}
				width += e.Half / (l.mean * second) / runs
				sorted := make([]int64, len(s))
				for i := range s {
					sorted[i] = s[i].Latency
				}
				slices.Sort(sorted)
				for k, p := range ps {
					q := measure.Percentile(sorted, p)
					e := b.Mean(s, func(s *measure.Sample) float64 {
						if s.Latency <= q {
							return 1
						}
						return 0
					})
					low, high := measure.QuantileRanks(p, len(s), e.Half)
					truth := int64(l.quantile(p) * second)
					if (low < 0 || sorted[low] <= truth) && (high >= len(s) || sorted[high] >= truth) {
						hit[k]++
					}
				}
			}
			t.Logf("%s %g n=%g: rate %.3f mean %.3f (±%.3f) quantiles %v", l.name, l.mean, length, float64(rate)/runs, float64(mean)/runs, width, hit)
		}
	}
	require.True(t, true)
}
