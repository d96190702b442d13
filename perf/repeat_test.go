package perf_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	measurement "triton/pkg/measure"
)

func TestRepeatsAreInterleaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, ev, err := measure(t, newFake(1700*time.Microsecond), func(c *perf.Config) {
			c.Range.List, c.Batches, c.Repeats = []float64{1, 8}, []int{1, 4}, 3
		})
		require.NoError(t, err)
		var order []perf.Setting
		for i, l := range rep.All() {
			require.Equal(t, i+1, l.Number)
			order = append(order, perf.Setting{Batch: l.Batch, Load: l.Load, Repeat: l.Repeat})
		}
		require.Equal(t, rep.Settings.Plan(), order)
		require.Len(t, order, 12)
		var repeats []int
		for _, e := range ev.all {
			if e, ok := e.(perf.RepeatStarted); ok {
				repeats = append(repeats, e.Repeat)
			}
		}
		require.Equal(t, []int{1, 2, 3}, repeats)
	})
}

func TestOneRepeatIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, ev, err := measure(t, newFake(1700*time.Microsecond), func(c *perf.Config) { c.Repeats = 1 })
		require.NoError(t, err)
		require.Len(t, rep.Levels, 1)
		require.Zero(t, rep.Levels[0].Repeat)
		require.NotContains(t, ev.all, perf.RepeatStarted{Repeat: 1})
	})
}

func TestInterruptEndsAllRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(5*time.Second, func() { close(stop) }) // in the second repeat
		c := perf.DefaultConfig("simple")
		c.Interval, c.Repeats = time.Second, 5
		rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: newFake(time.Millisecond).dial, Interrupt: stop})
		require.NoError(t, err)
		require.True(t, rep.Interrupted)
		require.Len(t, rep.Levels, 2)
		require.True(t, rep.Levels[1].Incomplete)
	})
}

// TestLatencyLimitEndsEachRepeat: a repeat ends at the limit, and the next one begins at the lowest level.
func TestLatencyLimitEndsEachRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, _, err := measure(t, newFake(5*time.Millisecond), func(c *perf.Config) {
			c.Range.List, c.Repeats, c.LatencyLimit = []float64{1, 8}, 2, 5*time.Millisecond
		})
		require.NoError(t, err)
		require.Empty(t, rep.Levels)
		require.Len(t, rep.Failed, 2, "one level of each repeat")
	})
}

func TestRepeatsNeedKnownLevels(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*perf.Config){
		"perf: the number of repeats must be from 1 to 10000":                                    func(c *perf.Config) { c.Repeats = -1 },
		"perf: requests that are sent once are not repeated":                                     func(c *perf.Config) { c.Repeats, c.Mode = 2, perf.FixedSchedule },
		"perf: repeats need a linear sweep with an end: the results decide the levels of others": func(c *perf.Config) { c.Repeats, c.Range.End, c.LatencyLimit = 2, 0, time.Second },
	} {
		_, _, err := measure(t, newFake(0), change)
		require.EqualError(t, err, want)
	}
}

// TestRepeatsDecideWhatIsStable: from five repeats on a repeat is three windows long, also if these disagree, and
// the level is stable if the repeats agree.
func TestRepeatsDecideWhatIsStable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		began := time.Now()
		f.latency = func(uint64) time.Duration { // changes every 2 s, so that windows of 5 s differ
			return time.Millisecond << (time.Since(began) / (2 * time.Second) % 2)
		}
		five := func(c *perf.Config) { c.Repeats = 5 }
		rep, ev, err := measure(t, f, five)
		require.NoError(t, err)
		require.Empty(t, ev.notices())
		require.False(t, rep.Unstable)
		require.Len(t, rep.Levels, 5)
		disagree := 0
		for _, l := range rep.Levels {
			require.Equal(t, 3, l.Trials)
			if l.Spread.Throughput > rep.Settings.Stability {
				disagree++
			}
		}
		require.Positive(t, disagree)
		require.True(t, rep.Repeated()[0].Stable)

		f = newFake(0)
		f.latency = func(n uint64) time.Duration { return time.Duration(1+n) * 100 * time.Microsecond }
		rep, ev, err = measure(t, f, five)
		require.NoError(t, err)
		require.True(t, rep.Unstable)
		require.Len(t, ev.notices(), 1)
		require.Regexp(t, `^Failed to obtain stable measurement for concurrency 1: the mean of 5 repeats is known to ±\d+ %, and ±10 % is wanted\. Please try to increase the --repeat or the --measurement-interval\.$`, ev.notices()[0])
		require.Equal(t, "not stable", rep.Means().Failed[0].Problem())
	})
}

// TestOtherProgramsAreNoticed: what they use between the levels is a figure and, with repeats, a warning.
func TestOtherProgramsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		share  float64
		shared bool
		others float64
		notes  int
	}{
		"busy":                     {0.34, false, 0.34, 1},
		"quiet":                    {0.1, false, 0.1, 0},
		"beside a load of our own": {0.34, true, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var ev events
				config := perf.DefaultConfig("simple")
				config.Repeats = 5
				rep, err := perf.Run(t.Context(), config, perf.Deps{
					Dial: newFake(time.Millisecond).dial, Observer: &ev, Shared: c.shared,
					Usage: func() measurement.Usage {
						passed := time.Since(began)
						return measurement.Usage{Cores: 2, Total: 2 * passed, Busy: time.Duration(2 * c.share * float64(passed))}
					},
				})
				require.NoError(t, err)
				for _, l := range rep.Levels {
					require.InDelta(t, c.others, l.Process.Others, 1e-6)
				}
				require.InDelta(t, c.others, rep.Means().Levels[0].Process.Others, 1e-6)
				require.Len(t, ev.notices(), c.notes)
				if c.notes > 0 {
					require.Regexp(t, `^WARNING: other programs used 34 % of the processors of this machine`, ev.notices()[0])
				}
			})
		})
	}
}

// TestPaceOfTheMachine: enough repeats measure it before each level, fewer and loads of our own do not.
func TestPaceOfTheMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		repeats int
		shared  bool
		want    float64
	}{
		"enough repeats":           {5, false, 80_000},
		"one":                      {1, false, 0},
		"beside a load of our own": {5, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				config := perf.DefaultConfig("simple")
				config.Repeats = c.repeats
				rep, err := perf.Run(t.Context(), config, perf.Deps{
					Dial: newFake(time.Millisecond).dial, Shared: c.shared,
					Usage: func() measurement.Usage { return measurement.Usage{Cores: 2, Total: time.Since(began)} },
					RoundTrips: func(during time.Duration, _ <-chan struct{}) float64 {
						require.LessOrEqual(t, during, time.Second)
						time.Sleep(during)
						return 80_000
					},
				})
				require.NoError(t, err)
				for _, l := range rep.Levels {
					require.InDelta(t, c.want, l.Process.Pace, 1e-6)
				}
				require.InDelta(t, c.want, rep.Means().Levels[0].Process.Pace, 1e-6)
			})
		})
	}
}
