package perf_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	samples "triton/pkg/measure"
)

// samplesOf returns n requests that end at equal intervals in a window, each of a millisecond
// more latency than the one before.
func samplesOf(from, to int64, n int) perf.Samples {
	w := perf.Samples{From: from, To: to}
	for i := range int64(n) {
		w.List = append(w.List, samples.Sample{End: from + (to-from)*i/int64(n), Latency: (i + 1) * 1e6})
	}
	return w
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	two := perf.Timeline([]perf.Samples{samplesOf(5*second, 6*second, 400), samplesOf(6*second, 8*second, 400)}, 4*second, []float64{50, 99})
	require.Len(t, two, 8, "a hundred requests in each")
	for i, m := range two {
		require.Equal(t, 100, m.Requests)
		length, start := 250*time.Millisecond, time.Duration(i)*250*time.Millisecond
		if i >= 4 {
			length, start = 500*time.Millisecond, time.Second+time.Duration(i-4)*500*time.Millisecond
		}
		require.Equal(t, length, m.Duration)
		require.Equal(t, time.Second+start, m.Start)
		first := time.Duration(i%4)*100*time.Millisecond + time.Millisecond
		require.Equal(t, first+50*time.Millisecond, m.Percentiles[0].Latency)
		require.Equal(t, first+98*time.Millisecond, m.Percentiles[1].Latency)
	}
	require.Len(t, perf.Timeline([]perf.Samples{samplesOf(0, second, 1e5)}, 0, nil), 30, "bounded")
	few := perf.Timeline([]perf.Samples{samplesOf(0, second, 3), {From: second, To: 2 * second}}, 0, []float64{50})
	require.Equal(t, []int{3, 0}, []int{few[0].Requests, few[1].Requests})
	require.Empty(t, few[1].Percentiles)
	require.Len(t, perf.Timeline([]perf.Samples{samplesOf(7, 7, 3)}, 0, nil), 1, "without a duration")
	require.Empty(t, perf.Timeline(nil, 0, nil))
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var n uint64
	buckets := perf.Histogram([]perf.Samples{samplesOf(0, 1e9, 1000), samplesOf(1e9, 2e9, 10)})
	for i, b := range buckets {
		n += b.N
		require.Less(t, b.Low, b.High)
		if i > 0 {
			require.LessOrEqual(t, buckets[i-1].High, b.Low)
		}
	}
	require.EqualValues(t, 1010, n)
}

// TestLevelDetail: a level of five windows keeps all of them, and the course of the last three.
func TestLevelDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10 * time.Millisecond)
		f.latency = func(n uint64) time.Duration {
			if n < 100 { // unlike the later windows
				return 40 * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		c := perf.DefaultConfig("simple")
		c.Stability = 0.02
		r, err := perf.Run(t.Context(), c, perf.Deps{Dial: f.dial})
		require.NoError(t, err)
		l := r.Levels[0]
		require.Len(t, l.Detail.Windows, l.Trials)
		require.Greater(t, l.Trials, 3)
		total, counted := 0, 0
		for i, w := range l.Detail.Windows {
			require.Equal(t, time.Duration(i)*6*time.Second, w.Start)
			require.Equal(t, 6*time.Second, w.Duration)
			require.Equal(t, i >= l.Trials-3, w.Counted)
			if w.Counted {
				counted += w.Requests
			}
		}
		for _, m := range l.Detail.Timeline {
			total += m.Requests
		}
		require.Equal(t, l.Requests, counted)
		require.Equal(t, l.Requests, total)
		require.Equal(t, l.Detail.Windows[l.Trials-3].Start, l.Detail.Timeline[0].Start)
		require.WithinDuration(t, time.Now().Add(-time.Duration(l.Trials)*6*time.Second), l.Detail.Start, time.Second)
		require.Len(t, l.Server.Batches, 1)
		require.Equal(t, l.Server.ComputeInfer, l.Server.Batches[0].ComputeInfer)
		require.Equal(t, l.Server.Executions, l.Server.Batches[0].Executions)
	})
}
