package search_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/search"
)

func TestParseList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"4":          {4},
		"1,4,8":      {1, 4, 8},
		"1:4":        {1, 2, 3, 4},
		"2:9:3":      {2, 5, 8},
		"3:3":        {3},
		"1, 2:4 ,16": {1, 2, 3, 4, 16},
	} {
		got, err := search.ParseList(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":          `"" is not a positive number`,
		"1,":        `"" is not a positive number`,
		"0":         `"0" is not a positive number`,
		"-2":        `"-2" is not a positive number`,
		"x":         `"x" is not a positive number`,
		"1:4:0":     `"0" is not a positive number`,
		"4:1":       `range "4:1" ends before it starts`,
		"1:2:3:4":   `"1:2:3:4" is not of the form start:end:step`,
		"1:1000000": `range "1:1000000" is more than 1024 numbers`,
	} {
		_, err := search.ParseList(text)
		require.EqualError(t, err, want, text)
	}
}

func TestSpaceOrder(t *testing.T) {
	t.Parallel()
	s := search.Space{Instances: []int{4, 1, 4}, Batches: []int{8, 1}, Concurrencies: []int{2, 1}}
	require.NoError(t, s.Validate())
	require.Equal(t, []int{1, 4}, s.Counts())
	require.Equal(t, []search.Load{{1, 1}, {1, 2}, {8, 1}, {8, 2}}, s.Loads())
	require.Equal(t, 8, s.Points())
	require.Equal(t, []int{4, 1, 4}, s.Instances, "the space itself stays")
	require.EqualError(t, search.Space{Instances: []int{0}, Batches: []int{1}}.Validate(),
		"instance counts: 0 is less than 1\nconcurrencies: nothing to try")
}

func TestFit(t *testing.T) {
	t.Parallel()
	line, ok := search.Fit([]search.Sample{{1, 1380}, {3, 3560}, {2, 2460}})
	require.True(t, ok)
	require.InDelta(t, 1090, line.PerInstance, 1e-9)
	require.InDelta(t, 286.6667, line.PerModel, 1e-3)
	require.InDelta(t, 6.6667, line.Residual, 1e-3)
	require.InDelta(t, 1100, line.MaxPerInstance, 1e-9)

	_, ok = search.Fit([]search.Sample{{2, 10}})
	require.False(t, ok, "one count has no slope")
	_, ok = search.Fit([]search.Sample{{2, 10}, {2, 12}})
	require.False(t, ok, "one count twice has no slope")
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	// In MiB: 520 for the bare server, 40366 usable, 5 % of it kept free.
	line, _ := search.Fit([]search.Sample{{1, 1900 - 520}, {2, 2980 - 520}, {3, 4080 - 520}})
	n, limited := search.Capacity(40366-2018, 520, line)
	require.True(t, limited)
	require.Equal(t, 34, n)

	n, limited = search.Capacity(500, 520, line)
	require.True(t, limited)
	require.Zero(t, n, "not even the bare server fits")
	flat, _ := search.Fit([]search.Sample{{1, 100}, {2, 100}})
	_, limited = search.Capacity(1000, 10, flat)
	require.False(t, limited)
}

// TestCapacityIsExactForLinearMemory checks exact, linear samples: Capacity returns the number
// of instances that fit while one more does not, and never fewer for more memory.
func TestCapacityIsExactForLinearMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		base, model, each := r.Int64N(1000), r.Int64N(1000), 1+r.Int64N(500)
		usable := r.Int64N(100_000)
		at := func(k int) int64 { return base + model + each*int64(k) }
		var samples []search.Sample
		for _, k := range []int{1, 2, 4}[:2+r.IntN(2)] {
			samples = append(samples, search.Sample{Instances: k, Bytes: at(k) - base})
		}
		line, ok := search.Fit(samples)
		require.True(t, ok)
		n, limited := search.Capacity(usable, base, line)
		require.True(t, limited)
		if n > 0 {
			require.LessOrEqual(t, at(n), usable)
		}
		// One below the limit is allowed: the slope is computed in floats.
		require.Greater(t, at(n+2), usable)
		more, _ := search.Capacity(usable+r.Int64N(1000), base, line)
		require.GreaterOrEqual(t, more, n)
	}
}

func outcome(instances int, throughput float64, p99 time.Duration, bytes int64) search.Outcome {
	return search.Outcome{Instances: instances, Throughput: throughput, P99: p99, Bytes: bytes}
}

func TestRecommend(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	all := []search.Outcome{
		outcome(1, 100, 10*ms, 500),
		outcome(2, 190, 12*ms, 900),
		outcome(3, 195, 20*ms, 1300),
		outcome(2, 192, 30*ms, 950),
		outcome(4, 300, 90*ms, 1700),
	}
	for name, c := range map[string]struct {
		limits search.Limits
		want   int
	}{
		"best":                    {search.Limits{}, 4},
		"latency":                 {search.Limits{P99: 25 * ms}, 2},
		"latency and tolerance":   {search.Limits{P99: 25 * ms, Tolerance: 0.05}, 1},
		"same instances, memory":  {search.Limits{P99: 50 * ms, Tolerance: 0.05}, 1},
		"exactly at the budget":   {search.Limits{P99: 10 * ms}, 0},
		"nothing keeps the limit": {search.Limits{P99: 9 * ms}, -1},
	} {
		require.Equal(t, c.want, search.Recommend(all, c.limits), name)
	}
	require.Equal(t, -1, search.Recommend(nil, search.Limits{}))
	same := []search.Outcome{outcome(1, 99, 5*ms, 500), outcome(1, 100, 6*ms, 500), outcome(1, 100, 4*ms, 500)}
	require.Equal(t, 2, search.Recommend(same, search.Limits{Tolerance: 0.05}))
}
