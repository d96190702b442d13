package perf

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

func history(throughput []float64, latency []int64) []point {
	h := make([]point, len(throughput))
	for i := range h {
		h[i] = point{throughput[i], latency[i%len(latency)]}
	}
	return h
}

func TestStable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		throughput []float64
		latency    []int64
		any        bool // any latency is stable
		want       bool
	}{
		{"all apart", []float64{1, 1000, 500}, []int64{1}, false, false},
		{"close", []float64{500, 520, 510}, []int64{1}, false, true},
		{"latency apart", []float64{500, 520, 510}, []int64{100, 106, 112}, false, false},
		{"latency not looked at", []float64{500, 520, 510}, []int64{100, 106, 112}, true, true},
		{"latency close", []float64{500, 520, 510}, []int64{100, 104, 108}, false, true},
		{"last three", []float64{1, 1000, 500, 1500, 500, 520, 510}, []int64{1}, false, true},
		{"a failed window", []float64{500, 0, 510}, []int64{1}, false, false},
		{"too few", []float64{500, 510}, []int64{1}, false, false},
		{"none", nil, []int64{1}, false, false},
		{"equality passes", []float64{100, 110, 100}, []int64{1}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, stable(history(c.throughput, c.latency), 0.1, !c.any))
		})
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	s := spread(history([]float64{900, 100, 110, 105}, []int64{1, 200, 100, 150}))
	require.InDelta(t, 0.1, s.Throughput, 1e-9)
	require.InDelta(t, 1.0, s.Latency, 1e-9)
	require.True(t, math.IsInf(spread([]point{{100, 5}, failedPoint, {100, 5}}).Throughput, 1))
	require.Zero(t, spread(history([]float64{100, 110}, []int64{5})), "too few windows")
}

func TestExceeded(t *testing.T) {
	t.Parallel()
	apart := []float64{1, 1000, 500}
	require.True(t, exceeded(history(apart, []int64{2_000_000}), 1_000_000))
	require.True(t, exceeded(history(apart, []int64{1, 1_000_000, 1}), 1_000_000), "strictly below is within")
	require.False(t, exceeded(history(apart, []int64{100_000}), 1_000_000))
	require.False(t, exceeded(history(apart[:2], []int64{2_000_000}), 1_000_000), "three windows first")
	require.False(t, exceeded(history(apart, []int64{2_000_000}), 0), "no limit")
}

func TestOverhead(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 37, overhead(100, 63), 1e-9)
	require.InDelta(t, 76.068, overhead(234, 56), 1e-3)
	require.Zero(t, overhead(100, 101))
	require.Zero(t, overhead(0, 0))
}

func wholeBinary(r Range, visit func(float64) (verdict, error)) error { return binary(r, true, visit) }

func TestSearchOrder(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		r      Range
		search func(Range, func(float64) (verdict, error)) error
		limit  int // levels up to here meet
		fail   int // this level fails
		want   []int
	}{
		{"up to the end", Range{Start: 1, End: 7, Step: 2}, linear, 100, 0, []int{1, 3, 5, 7}},
		{"end between steps", Range{Start: 1, End: 6, Step: 2}, linear, 100, 0, []int{1, 3, 5}},
		{"stops at the limit", Range{Start: 1, End: 7, Step: 2}, linear, 4, 0, []int{1, 3, 5}},
		{"no end", Range{Start: 2, End: 0, Step: 3}, linear, 9, 0, []int{2, 5, 8, 11}},
		{"one level", Range{Start: 4, End: 1, Step: 1}, linear, 100, 0, []int{4}},
		{"error", Range{Start: 1, End: 7, Step: 2}, linear, 100, 3, []int{1, 3}},
		{"binary, all meet", Range{Start: 1, End: 16, Step: 1}, wholeBinary, 16, 0, []int{1, 16}},
		{"binary, none meets", Range{Start: 1, End: 16, Step: 1}, wholeBinary, 0, 0, []int{1}},
		{"binary", Range{Start: 1, End: 16, Step: 1}, wholeBinary, 10, 0, []int{1, 16, 8, 12, 10, 11}},
		{"binary, coarse", Range{Start: 1, End: 16, Step: 4}, wholeBinary, 10, 0, []int{1, 16, 8, 12}},
		{"binary, error", Range{Start: 1, End: 16, Step: 1}, wholeBinary, 10, 8, []int{1, 16, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var visited []int
			err := c.search(c.r, func(v float64) (verdict, error) {
				n := int(v)
				visited = append(visited, n)
				if n == c.fail {
					return fails, boom
				}
				if n <= c.limit {
					return meets, nil
				}
				return fails, nil
			})
			require.Equal(t, c.want, visited)
			require.Equal(t, c.fail != 0, errors.Is(err, boom))
		})
	}
}

func TestMergeWeighsByRequests(t *testing.T) {
	t.Parallel()
	a := &window{samples: []measure.Sample{{Latency: 3}, {Latency: 1}}, ns: 10, overhead: 10}
	a.totals.Completed, a.totals.Request = 3, 301 // 100 each, the rest is lost to whole numbers
	b := &window{samples: []measure.Sample{{Latency: 2}}, ns: 20, overhead: 30}
	b.totals.Completed, b.totals.Request, b.totals.Send = 1, 50, 7
	m := merge([]*window{a, b})
	require.Equal(t, []measure.Sample{{Latency: 3}, {Latency: 1}, {Latency: 2}}, m.samples)
	require.EqualValues(t, 30, m.ns)
	require.InDelta(t, 20, m.overhead, 1e-9)
	require.EqualValues(t, 4, m.totals.Completed)
	require.EqualValues(t, 350, m.totals.Request)
	require.EqualValues(t, 7, m.totals.Send)
}
