package perf

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMeanOfRepeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   Mean
	}{
		"one":         {[]float64{7}, Mean{Value: 7, Lowest: 7, Highest: 7}},
		"equal":       {[]float64{7, 7}, Mean{7, Interval{7, 7}, 7, 7}},
		"two":         {[]float64{100, 110}, Mean{105, Interval{105 - 12.7062*5, 105 + 12.7062*5}, 100, 110}},
		"three":       {[]float64{12, 10, 14}, Mean{12, Interval{12 - 4.30265*2/math.Sqrt(3), 12 + 4.30265*2/math.Sqrt(3)}, 10, 14}},
		"not below 0": {[]float64{1, 5}, Mean{3, Interval{0, 3 + 12.7062*2}, 1, 5}},
		"six":         {[]float64{5, 7, 6, 8, 4, 6}, Mean{6, Interval{6 - 2.57058*math.Sqrt(2)/math.Sqrt(6), 6 + 2.57058*math.Sqrt(2)/math.Sqrt(6)}, 4, 8}},
	} {
		got := MeanOf(c.values)
		require.InDelta(t, c.want.Value, got.Value, 1e-9, name)
		require.InDelta(t, c.want.Interval.Low, got.Interval.Low, 2e-3, name)
		require.InDelta(t, c.want.Interval.High, got.Interval.High, 2e-3, name)
		require.Equal(t, [2]float64{c.want.Lowest, c.want.Highest}, [2]float64{got.Lowest, got.Highest}, name)
	}
}

// TestIntervalHoldsTheTruth plays runs whose repeats vary by a tenth: the interval has the true mean in 95
// of 100.
func TestIntervalHoldsTheTruth(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const truth, runs = 1000.0, 20000
	for _, n := range []int{2, 3, 5, 10} {
		held := 0
		values := make([]float64, n)
		for range runs {
			for i := range values {
				values[i] = truth * (1 + 0.1*rng.NormFloat64())
			}
			if m := MeanOf(values); m.Interval.Low <= truth && truth <= m.Interval.High {
				held++
			}
		}
		require.InDelta(t, 0.95, float64(held)/runs, 0.006, "%d repeats", n)
	}
}

func within(share float64, values ...float64) []Interval {
	var all []Interval
	for _, v := range values {
		all = append(all, Interval{v * (1 - share), v * (1 + share)})
	}
	return all
}

func TestDisagreement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values    []float64
		intervals []Interval
		want      bool
	}{
		"one":                         {[]float64{5}, within(0.01, 5), false},
		"equal":                       {[]float64{5, 5}, within(0.01, 5, 5), false},
		"a machine that changed":      {[]float64{41036, 57122, 50000}, within(0.03, 41036, 57122, 50000), true},
		"wide intervals":              {[]float64{41036, 57122, 50000}, within(0.3, 41036, 57122, 50000), false},
		"certain, and nobody's worry": {[]float64{1000, 1040}, within(0.001, 1000, 1040), false},
		"one interval is not known":   {[]float64{1000, 1500}, append(within(0.01, 1000), Interval{}), false},
		"no requests in one":          {[]float64{0, 1500}, within(0.01, 0, 1500), false},
	} {
		d, ok := disagreement(c.values, c.intervals)
		require.Equal(t, c.want, ok, name)
		if ok {
			require.InDelta(t, 0.392, d.Differ(), 2e-3, name)
			require.InDelta(t, 0.03, d.Within, 1e-9, name)
		}
	}
}

// TestEqualRepeatsAgree plays repeats that differ only by what their intervals say: one run in a hundred
// has a disagreement.
func TestEqualRepeatsAgree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	const runs, half = 20000, 0.1
	for _, n := range []int{2, 3, 5} {
		disagreed := 0
		values, intervals := make([]float64, n), make([]Interval, n)
		for range runs {
			for i := range values {
				values[i] = 1000 * (1 + half/1.96*rng.NormFloat64())
				intervals[i] = Interval{values[i] - 1000*half, values[i] + 1000*half}
			}
			if _, ok := disagreement(values, intervals); ok {
				disagreed++
			}
		}
		require.InDelta(t, 0.01, float64(disagreed)/runs, 0.004, "%d repeats", n)
	}
}

func TestChiSquare(t *testing.T) {
	t.Parallel()
	for f, want := range map[int]float64{1: 6.635, 2: 9.210, 4: 13.277, 9: 21.666} {
		require.InEpsilon(t, want, chiSquare99(f), 0.05, f)
	}
}

func repeatLevel(number, repeat int, value, throughput float64) Level {
	l := Level{Number: number, Batch: 1, Load: Load{Concurrency, value}, Repeat: repeat, Stable: true, Trials: 3}
	l.Requests, l.Duration, l.Throughput = 100, time.Second, throughput
	l.ThroughputInterval = Interval{0.99 * throughput, 1.01 * throughput}
	l.AvgLatency = time.Duration(value / throughput * 1e9)
	l.Stabilizing = l.AvgLatency
	l.Percentiles = []Percentile{{P: 50, Latency: l.AvgLatency, Samples: 100}, {P: 99, Latency: 2 * l.AvgLatency, Samples: 100}}
	l.MaxLatency = 3 * l.AvgLatency
	l.Server = &ServerStats{
		Model: "m", Executions: 10, Success: Statistic{10, 100},
		Composing: []ServerStats{{Model: "part", Batches: []BatchStats{{Size: 1, Executions: 10}}}},
	}
	return l
}

func TestMeansHaveOneLevelForItsRepeats(t *testing.T) {
	t.Parallel()
	r := &Report{Levels: []Level{
		repeatLevel(1, 1, 1, 1000), repeatLevel(2, 1, 8, 4000), repeatLevel(3, 2, 1, 1100), repeatLevel(4, 2, 8, 4000), repeatLevel(5, 3, 1, 10),
	}}
	r.Settings.Batches, r.Settings.Repeats = []int{1}, 3
	r.Levels[4].Incomplete, r.Interrupted = true, true
	m := r.Means()
	require.Len(t, m.Levels, 2)
	require.True(t, m.Interrupted)
	first := m.Levels[0]
	require.Equal(t, [3]float64{1, 1, 1050}, [3]float64{float64(first.Number), first.Load.Value, first.Throughput}, "the interrupted repeat does not count")
	require.Equal(t, 200, first.Requests)
	require.Equal(t, 2*time.Second, first.Duration)
	require.Equal(t, time.Duration(math.Round((1e6+1e9/1100)/2)), first.AvgLatency)
	require.Equal(t, first.AvgLatency, first.Latency(50))
	require.Equal(t, 3*time.Millisecond, first.MaxLatency)
	require.Equal(t, 100, first.Percentiles[0].Samples)
	require.Equal(t, Grade("E"), first.Grade, "two repeats 10 % apart say little")
	require.Equal(t, Grade("A"), m.Levels[1].Grade)
	require.EqualValues(t, 20, first.Server.Executions)
	require.EqualValues(t, 20, first.Server.Composing[0].Batches[0].Executions)
	require.EqualValues(t, 10, r.Levels[0].Server.Composing[0].Batches[0].Executions, "the repeats keep their figures")
	require.Same(t, m, m.Means())
}

func TestMeansOfLevelsThatDoNotCount(t *testing.T) {
	t.Parallel()
	r := &Report{Levels: []Level{repeatLevel(1, 1, 1, 1000)}, Failed: []Level{repeatLevel(2, 2, 1, 900)}}
	r.Settings.Batches, r.Settings.Repeats = []int{1}, 2
	r.Failed[0].Stable = false
	m := r.Means()
	require.Empty(t, m.Levels)
	require.Equal(t, "not stable", m.Failed[0].Problem())
	require.InDelta(t, 950, m.Failed[0].Throughput, 1e-9)

	r = &Report{Levels: []Level{repeatLevel(1, 1, 1, 1000)}}
	r.Settings.Batches, r.Settings.Repeats = []int{1}, 2
	r.Levels[0].Incomplete = true
	require.Equal(t, "interrupted", r.Means().Levels[0].Problem(), "the first repeat was interrupted")
}
