package perf_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
)

// queue makes the fake a server with one processor: requests wait for those before them.
func (f *fake) queue(service func() time.Duration) {
	var mu sync.Mutex
	var free time.Time
	f.latency = func(uint64) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		free = free.Add(service())
		return free.Sub(now)
	}
}

// TestStatedIntervalsHoldTheTruth measures an M/M/1 queue as a user would: 500 requests per second
// at intervals of a Poisson process, and 1000 per second served. The response time is then
// exponential with a mean of 2 ms. 95 of 100 intervals should hold the truth; fewer than 90 do with
// a probability of 1.1 %, and all seeds are fixed. The laws M/D/1 and bimodal are checked in
// package measure.
func TestStatedIntervalsHoldTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("200 runs: too slow under the race detector, and they have no goroutines of their own")
	}
	const mean = 2 * time.Millisecond
	for _, c := range []struct {
		name string
		runs int
		stop []perf.Goal
	}{
		{"three windows", 100, nil},
		{"narrow enough", 100, []perf.Goal{{Figure: perf.AverageFigure, Width: 0.12}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := map[string]int{}
			for seed := range uint64(c.runs) {
				synctest.Test(t, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, 11))
					f := newFake(0)
					f.queue(func() time.Duration { return time.Duration(rng.ExpFloat64() * float64(mean) / 2) })
					rep, _, err := measure(t, f, func(config *perf.Config) {
						config.Mode, config.Range.Start = perf.RequestRate, 500
						config.Distribution, config.Seed = perf.Poisson, seed
						config.Stability, config.StopWhen, config.MaxTrials = 1e9, c.stop, 60
					})
					require.NoError(t, err)
					require.Len(t, rep.Levels, 1)
					l := rep.Levels[0]
					count := func(name string, i perf.Interval, truth float64) {
						if i.Low <= truth && truth <= i.High {
							hits[name]++
						}
					}
					count("throughput", l.ThroughputInterval, 500)
					count("mean", l.AvgInterval, float64(mean))
					for i, p := range []float64{50, 90, 95, 99} {
						require.Equal(t, p, l.Percentiles[i].P)
						count([]string{"p50", "p90", "p95", "p99"}[i], l.Percentiles[i].Interval, -math.Log(1-p/100)*float64(mean))
					}
				})
			}
			t.Log(hits)
			for name, n := range hits {
				require.GreaterOrEqual(t, n, c.runs*90/100, name)
			}
			require.Len(t, hits, 6)
		})
	}
}

// A sweep to 256 requests in flight with intervals of 5 % takes less than a minute. perf_analyzer
// needs three windows of 6 s at each level, 162 s.
func TestSweepWithGoalsIsShort(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of virtual requests: too slow under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 13))
		var mu sync.Mutex
		f := newFake(0)
		f.latency = func(uint64) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration((0.2 + rng.ExpFloat64()) * float64(4*time.Millisecond))
		}
		begin := time.Now()
		rep, _, err := measure(t, f, func(c *perf.Config) {
			*c = perf.DefaultConfig("simple")
			c.Range.List = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
			c.StopWhen = []perf.Goal{{Figure: perf.ThroughputFigure, Width: 0.05}, {Figure: perf.AverageFigure, Width: 0.05}}
		})
		require.NoError(t, err)
		require.Len(t, rep.Levels, 9)
		for _, l := range rep.Levels {
			require.LessOrEqual(t, l.ThroughputInterval.Width(l.Throughput), 0.05, l.Load)
			require.LessOrEqual(t, l.AvgInterval.Width(float64(l.AvgLatency)), 0.05, l.Load)
			require.InEpsilon(t, 4800*time.Microsecond, l.AvgLatency, 0.1, l.Load)
		}
		require.Less(t, time.Since(begin), time.Minute)
	})
}
