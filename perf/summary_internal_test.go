package perf

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

// samples are those of a window of 6 s at 50,000 requests per second.
func manySamples() *window {
	rng := rand.New(rand.NewPCG(1, 2))
	w := &window{ns: int64(6 * time.Second), samples: make([]measure.Sample, 300_000)}
	for i := range w.samples {
		w.samples[i] = measure.Sample{End: rng.Int64N(w.ns), Latency: int64(1e6 * rng.ExpFloat64())}
	}
	return w
}

// What is computed while load runs agrees with what is computed after it.
func TestGlanceAgreesWithTheSummary(t *testing.T) {
	t.Parallel()
	r := &run{settings: Settings{Config: Config{Percentile: 97.5}}}
	w := manySamples()
	quick, _ := r.quickSummary(w, 2)
	full := r.fullSummary(w, 2)
	require.Equal(t, full.Latency(97.5), quick.Latency(97.5))
	require.Equal(t, full.Latency(97.5), quick.Stabilizing)
	require.Equal(t, full.StabilizingInterval, full.Percentiles[3].Interval)
	require.Equal(t, full.Throughput, quick.Throughput)
	require.Equal(t, full.AvgLatency, quick.AvgLatency)
	require.Equal(t, full.StdDev, quick.StdDev)
	require.Equal(t, full.MaxLatency, quick.MaxLatency)
	require.Less(t, full.ThroughputInterval.Width(full.Throughput), 0.01)
}

func BenchmarkGlance(b *testing.B) {
	w := manySamples()
	for name, p := range map[string]float64{"average": 0, "percentile": 99} {
		b.Run(name, func(b *testing.B) {
			r := &run{settings: Settings{Config: Config{Percentile: p}}}
			for b.Loop() {
				r.quickSummary(w, 1)
			}
		})
	}
}

func BenchmarkSummarize(b *testing.B) {
	w, r := manySamples(), &run{}
	for b.Loop() {
		r.fullSummary(w, 1)
	}
}

func BenchmarkGoals(b *testing.B) {
	w := manySamples()
	for _, figure := range []string{ThroughputFigure, AverageFigure, "p99"} {
		b.Run(figure, func(b *testing.B) {
			for b.Loop() {
				estimate(Goal{Figure: figure}, w.samples, w.from, w.to())
			}
		})
	}
}
