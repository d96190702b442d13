package measure_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

func TestMeanAndDeviation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		latencies []int64
		mean      int64
		std       uint64
	}{
		{"three", []int64{100000, 200000, 50000}, 116666, 76},
		{"seconds", []int64{4.3e9, 4.4e9, 5.0e9}, 4566666666, 378593},
		{"one", []int64{100}, 100, math.MaxUint64},
		{"none", nil, 0, math.MaxUint64},
		{"beyond 64 bits", []int64{0, math.MaxInt64 - 1, 0}, (math.MaxInt64 - 1) / 3, 5325116328314171},
		{"equal", []int64{7, 7, 7, 7}, 7, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.mean, measure.Mean(c.latencies))
			require.Equal(t, c.std, measure.StdDevMicros(c.latencies))
		})
	}
}

func TestPercentileIsNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	for _, c := range []struct {
		sorted []int64
		p      float64
		want   int64
	}{
		{hundred, 50, 51},
		{hundred, 90, 90},
		{hundred, 95, 95},
		{hundred, 99, 99},
		{hundred, 1, 2},
		{[]int64{10, 20}, 50, 20},
		{[]int64{10, 20}, 49, 10},
		{[]int64{5}, 99, 5},
		{nil, 50, 0},
	} {
		require.Equal(t, c.want, measure.Percentile(c.sorted, c.p), "p%g of %d", c.p, len(c.sorted))
	}
}

func TestThroughput(t *testing.T) {
	t.Parallel()
	require.Equal(t, 50.0, measure.Throughput(100, 2e9))
	require.Equal(t, 3.0, measure.Throughput(8+10, 6e9))
	require.Zero(t, measure.Throughput(8, 0))
}

// sample is a request from start to end.
func sample(start, end int64) measure.Sample {
	return measure.Sample{End: end, Latency: end - start}
}

// The window [4,17] of perf_analyzer's own selection cases.
func TestSelectByEnd(t *testing.T) {
	t.Parallel()
	var samples []measure.Sample
	for _, s := range [][2]int64{{1, 2}, {3, 5}, {6, 9}, {10, 14}, {15, 20}, {21, 27}} {
		samples = append(samples, sample(s[0], s[1]))
	}
	require.EqualValues(t, 26, measure.Span(samples))
	before := sample(0, 99)
	within, later := measure.Select(samples, 4, 17, []measure.Sample{before})
	require.Equal(t, []measure.Sample{before, sample(3, 5), sample(6, 9), sample(10, 14)}, within)
	require.Equal(t, []measure.Sample{sample(15, 20), sample(21, 27)}, later)
	within, later = measure.Select(later, 20, 27, nil)
	require.Equal(t, []measure.Sample{sample(15, 20), sample(21, 27)}, within, "both ends are inside")
	require.Empty(t, later)
	require.Zero(t, measure.Span(nil))
}

func TestRecorderTotalsAndWaiting(t *testing.T) {
	t.Parallel()
	var r measure.Recorder
	r.Start(-5)
	r.Add(sample(0, 10), 2, 1)
	r.Add(sample(12, 30), 3, 1)
	require.Equal(t, 2, r.Pending())
	samples, totals, waited := r.Take(nil, 40, true)
	require.Len(t, samples, 2)
	require.Equal(t, measure.Totals{Completed: 2, Request: 28, Send: 5, Receive: 2}, totals)
	require.EqualValues(t, 28+10, waited, "10 of a request still under way")
	// That request ends in the next window and began before it.
	r.Add(sample(31, 50), 0, 0)
	samples, later, waited := r.Take(samples[:0], 60, false)
	require.Equal(t, []measure.Sample{{End: 50, Latency: 19}}, samples)
	require.EqualValues(t, 10, waited, "only the part in this window")
	require.Equal(t, measure.Totals{Completed: 1, Request: 19}, later.Sub(totals))
	require.Equal(t, later, totals.Add(later.Sub(totals)))
}

func TestRecorderWaitsForTheEndOfRequests(t *testing.T) {
	t.Parallel()
	var r measure.Recorder
	r.Start(0)
	r.Add(sample(0, 10), 0, 0)
	r.Wait(10, 30) // its end, after what the sample counts
	_, _, waited := r.Take(nil, 40, false)
	require.EqualValues(t, 30, waited)
	r.Wait(35, 45) // a request without a sample, which began in the window before
	_, totals, waited := r.Take(nil, 60, true)
	require.EqualValues(t, 5+15, waited)
	require.EqualValues(t, 1, totals.Completed)
}

func TestRecorderLosesNothing(t *testing.T) {
	t.Parallel()
	var r measure.Recorder
	r.Histogram = &measure.Histogram{}
	const n = 20000
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(n) {
			r.Add(sample(i, i+5), 1, 1)
		}
	})
	var all []measure.Sample
	for len(all) < n {
		all, _, _ = r.Take(all, 0, false)
	}
	wg.Wait()
	for i, s := range all {
		require.Equal(t, measure.Sample{End: int64(i) + 5, Latency: 5}, s)
	}
	var c measure.Counts
	c.Merge(r.Histogram)
	require.EqualValues(t, n, c.N())
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	var r measure.Recorder
	r.Histogram = &measure.Histogram{}
	var into []measure.Sample
	window := func() {
		for i := range int64(1000) {
			r.Add(sample(i, i+5), 1, 1)
		}
		into, _, _ = r.Take(into[:0], 0, true)
	}
	window()
	window()
	require.Zero(t, testing.AllocsPerRun(20, window))
}

func TestHistogramIsClose(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	var h measure.Histogram
	var before, c measure.Counts
	h.Add(1 << 40)
	before.Merge(&h)
	values := make([]int64, 5000)
	for i := range values {
		values[i] = int64(math.Exp(rng.Float64() * 25))
		h.Add(values[i])
	}
	h.Add(-1)
	c.Merge(&h)
	c.Sub(&before)
	require.EqualValues(t, len(values)+1, c.N())
	slices.Sort(values)
	for _, p := range []float64{1, 50, 90, 99} {
		exact := float64(measure.Percentile(values, p))
		require.InEpsilon(t, exact+1, float64(c.Percentile(p))+1, 0.08, "p%d", p)
	}
	require.Zero(t, (&measure.Counts{}).Percentile(50))
}

func BenchmarkRecorder(b *testing.B) {
	var r measure.Recorder
	r.Histogram = &measure.Histogram{}
	var into []measure.Sample
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Add(sample(0, 1000), 10, 10)
		if i%4096 == 0 {
			into, _, _ = r.Take(into[:0], 0, false)
		}
	}
}
