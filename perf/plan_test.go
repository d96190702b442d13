package perf

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	plan := func(change func(c *Config)) []Setting {
		c := DefaultConfig("m")
		change(&c)
		return c.Plan()
	}
	at := func(mode Mode, batch int, values ...float64) (all []Setting) {
		for _, v := range values {
			all = append(all, Setting{Batch: batch, Load: Load{mode, v}})
		}
		return all
	}
	require.Equal(t, at(Concurrency, 1, 1), plan(func(*Config) {}))
	require.Equal(t, at(RequestRate, 1, 100, 250, 400), plan(func(c *Config) { c.Mode, c.Range = RequestRate, Range{Start: 100, End: 450, Step: 150} }))
	require.Equal(t, append(at(Concurrency, 2, 8, 1), at(Concurrency, 4, 8, 1)...), plan(func(c *Config) {
		c.Batches, c.Range = []int{2, 4}, Range{List: []float64{8, 1}}
	}))
	var repeated []Setting
	for repeat := 1; repeat <= 2; repeat++ {
		for _, batch := range []int{2, 4} {
			for _, v := range []float64{1, 8} {
				repeated = append(repeated, Setting{batch, Load{Concurrency, v}, repeat})
			}
		}
	}
	require.Equal(t, repeated, plan(func(c *Config) {
		c.Batches, c.Range, c.Repeats = []int{2, 4}, Range{List: []float64{1, 8}}, 2
	}), "the levels of a repeat, then those of the next one")
	require.Nil(t, plan(func(c *Config) { c.Range.End, c.Repeats = 6000, 2 }))
	require.Len(t, plan(func(c *Config) { c.Mode = Intervals }), 1)
	require.Nil(t, plan(func(c *Config) { c.Range.End = 0 }), "the latency limit ends the sweep")
	require.Nil(t, plan(func(c *Config) { c.Search, c.Range.End = Binary, 64 }))
	require.Nil(t, plan(func(c *Config) { c.Range.End = 1e9 }))
	require.Nil(t, plan(func(c *Config) { c.Range.End = 6000; c.Batches = []int{1, 2} }))
	require.Equal(t, at(Concurrency, 1, 4), plan(func(c *Config) { c.Range = Range{Start: 4, End: 1, Step: 1} }), "as the sweep does")
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		p           Progress
		finished    pace
		level, left time.Duration
	}{
		"the first window":            {Progress{Level: 1, Levels: 3, Trial: 1, Window: 6 * s, InWindow: 2 * s, Elapsed: 2 * s}, pace{}, 16 * s, 16*s + 2*18*s},
		"more windows than the least": {Progress{Level: 1, Levels: 1, Trial: 5, Window: 6 * s, InWindow: 2 * s, Elapsed: 26 * s}, pace{}, 4 * s, 4 * s},
		"finished levels had four":    {Progress{Level: 3, Levels: 4, Trial: 2, Window: 6 * s, InWindow: s, Elapsed: 7 * s}, pace{2, 7, 50 * s}, 17 * s, 42 * s},
		"an overdue window":           {Progress{Level: 1, Levels: 2, Trial: 3, Window: 6 * s, InWindow: 7 * s, Elapsed: 20 * s}, pace{}, 0, 0},
		"by count":                    {Progress{Level: 1, Levels: 1, Trial: 3, InWindow: s, Elapsed: 9 * s}, pace{}, 3 * s, 3 * s},
		"by count, the first window":  {Progress{Level: 1, Levels: 1, Trial: 1, InWindow: s, Elapsed: s}, pace{}, 0, 0},
		"by count, a later level":     {Progress{Level: 2, Levels: 2, Trial: 1, InWindow: s, Elapsed: s}, pace{1, 3, 12 * s}, 11 * s, 11 * s},
		"requests":                    {Progress{Level: 1, Levels: 1, Trial: 1, Total: 100, Requests: 25, Elapsed: 5 * s}, pace{}, 15 * s, 15 * s},
		"no request yet":              {Progress{Level: 1, Levels: 1, Trial: 1, Total: 100, Elapsed: 5 * s}, pace{}, 0, 0},
		"without an end":              {Progress{Level: 3, Trial: 3, Window: 6 * s, InWindow: 5 * s, Elapsed: 17 * s}, pace{2, 6, 36 * s}, s, 0},
		"warming up":                  {Progress{Level: 1, Levels: 1, Window: 6 * s, InWindow: s, Elapsed: s, WarmingUp: true}, pace{}, 17 * s, 17 * s},
	} {
		c.p.estimate(c.finished, 0)
		require.Equal(t, [2]time.Duration{c.level, c.left}, [2]time.Duration{c.p.LevelLeft, c.p.Left}, name)
	}
}

func TestEstimateOfGoals(t *testing.T) {
	t.Parallel()
	left := func(widths ...float64) time.Duration {
		p := Progress{Level: 1, Levels: 1, Trial: 20, Elapsed: 10 * time.Second}
		for _, is := range widths {
			p.Widths = append(p.Widths, Width{Goal{"throughput", 0.02}, is})
		}
		p.estimate(pace{}, time.Minute)
		return p.LevelLeft
	}
	require.Equal(t, 30*time.Second, left(0.04), "half the width takes four times as long")
	require.Equal(t, 30*time.Second, left(0.01, 0.04, 0.03))
	require.Equal(t, 50*time.Second, left(0.2), "the time limit")
	require.Equal(t, 50*time.Second, left(math.Inf(1)))
	require.Zero(t, left(0.02))
	require.Zero(t, left(), "not known yet")
}
