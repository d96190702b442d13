package perf_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/load"
	measurement "triton/pkg/measure"
	"triton/pkg/status"
)

// A server that stops for a second while 100 requests per second are due delays 100 of them. A
// client with one connection sends only one of them in time, so only the schedule shows the rest.
func TestStallShowsFromTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.latency = func(n uint64) time.Duration {
			if n == 500 {
				return time.Second
			}
			return time.Millisecond
		}
		rep, _, err := measure(t, f, func(c *perf.Config) {
			c.Mode, c.Range.Start, c.MaxInFlight = perf.RequestRate, 100, 1
			c.RequestCount, c.Windows, c.Samples = 1000, perf.CountWindows, 1000
		})
		require.NoError(t, err)
		l := rep.Levels[0]
		require.Equal(t, time.Millisecond, l.Latency(99), "from the send")
		require.GreaterOrEqual(t, l.Schedule.Latency(99), 900*time.Millisecond)
		require.GreaterOrEqual(t, l.Schedule.P999.Latency, 990*time.Millisecond)
		require.Equal(t, time.Second, l.Schedule.MaxLatency)
		require.Regexp(t, `^1[01]\.\d % of the requests started more than 1 ms late, on average \d+ usec$`, l.Late)
		require.Equal(t, perf.Grade("F"), l.Grade)
		require.True(t, rep.ClientLimited())
	})
}

// Connections, first requests and requests of the level before are not measured.
func TestLevelsBeginSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.dialTime = 50 * time.Millisecond
		begin := time.Now()
		slow := 4*time.Second + 600*time.Millisecond // still at the end of the first level
		f.latency = func(uint64) time.Duration {
			if time.Since(begin) < slow {
				return 900 * time.Millisecond
			}
			return time.Millisecond
		}
		rep, _, err := measure(t, f, func(c *perf.Config) { c.Range.List, c.Stability = []float64{1, 4}, 1e9 })
		require.NoError(t, err)
		require.Len(t, rep.Levels, 2)
		require.Equal(t, 900*time.Millisecond, rep.Levels[0].MaxLatency)
		require.Equal(t, 1, rep.Levels[0].WarmUp.Requests)
		require.InDelta(t, 900, rep.Levels[0].WarmUp.Duration.Seconds()*1000, 2)
		require.Equal(t, time.Millisecond, rep.Levels[1].MaxLatency)
		require.Positive(t, rep.Levels[1].WarmUp.Requests)
	})
}

func TestWarmUpRequestsAtEveryLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		var levels, sent atomic.Uint64
		f.latency = func(uint64) time.Duration { // the first ten of each level are slow
			if sent.Add(1) <= 10 {
				return 700 * time.Millisecond
			}
			return time.Millisecond
		}
		c := perf.DefaultConfig("simple")
		c.Interval, c.WarmupCount, c.Range.End = time.Second, 10, 3
		rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: f.dial, Observer: observer(func(e perf.Event) {
			switch e.(type) {
			case perf.LevelStarted:
				levels.Add(1)
			case perf.LevelDone:
				sent.Store(0)
			}
		})})
		require.NoError(t, err)
		require.EqualValues(t, 6, levels.Load(), "the header is printed twice, as by perf_analyzer")
		for _, l := range rep.Levels {
			require.Equal(t, time.Millisecond, l.MaxLatency, l.Load)
		}
	})
}

type observer func(perf.Event)

func (o observer) Observe(e perf.Event) { o(e) }

// lateAlarm is a timer on a busy machine.
type lateAlarm struct {
	load.Alarm
	delay time.Duration
}

func (a lateAlarm) Sleep(d time.Duration) bool { return a.Alarm.Sleep(d + a.delay) }

func TestClientLimitIsReported(t *testing.T) {
	begin := time.Now()
	for _, c := range []struct {
		name    string
		cores   float64 // used, of 2
		machine float64 // busy share; negative: not known
		delay   time.Duration
		want    string
	}{
		{"idle", 0.2, 0.5, 50 * time.Microsecond, ""},
		{"late, but no tenth of the latency", 1.7, 1, 150 * time.Microsecond, ""},
		{"saturated", 1.9, -1, 0, "it used 1.90 of 2 cores"},
		{"late", 0.5, 0.97, 800 * time.Microsecond, "it noticed responses 800 usec late on average, 40 % of the latency; it used 0.50 of 2 cores, and the machine was 97 % busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin = time.Now()
				config := perf.DefaultConfig("simple")
				config.Interval = time.Second
				var ev events
				rep, err := perf.Run(t.Context(), config, perf.Deps{
					Dial: newFake(2 * time.Millisecond).dial, Observer: &ev,
					Alarm: func(stop <-chan struct{}) load.Alarm { return lateAlarm{load.TimerAlarm(stop), c.delay} },
					Usage: func() measurement.Usage {
						passed := time.Since(begin)
						u := measurement.Usage{CPU: time.Duration(c.cores * float64(passed)), Cores: 2}
						if c.machine >= 0 {
							u.Busy, u.Total = time.Duration(c.machine*float64(passed)*4), passed*4
						}
						return u
					},
				})
				require.NoError(t, err)
				l := rep.Levels[0]
				require.Equal(t, c.want, l.ClientLimit)
				require.Equal(t, c.want != "", rep.ClientLimited())
				require.InDelta(t, c.cores/2, l.Process.Busy(), 0.001)
				require.InDelta(t, max(c.machine, -1), l.Process.Machine, 0.001)
				others := -1.0
				if c.machine >= 0 {
					others = c.machine - c.cores/4
				}
				require.InDelta(t, others, l.Process.Others, 0.001)
				require.InDelta(t, float64(c.delay), float64(l.Process.Delay), 1000)
				require.InDelta(t, float64(c.delay), float64(l.Process.DelayP99), 1000)
				require.InDelta(t, 360, l.Process.Probes, 80, "one in 10 ms")
				if c.want == "" {
					require.Equal(t, perf.Grade("A"), l.Grade)
					require.Empty(t, ev.notices())
					return
				}
				require.Equal(t, perf.Grade("F"), l.Grade)
				require.Equal(t, []string{"WARNING: concurrency 1: the client limited this level: " + c.want + "."}, ev.notices())
			})
		})
	}
}

// embedded is a server in this process.
type embedded struct{ *fake }

func (embedded) Embedded() bool { return true }

// TestServerInThisProcess: its processor time is not a limit of the client.
func TestServerInThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		rep, err := perf.Run(t.Context(), perf.DefaultConfig("simple"), perf.Deps{
			Dial:  func(context.Context) (perf.Target, error) { return embedded{newFake(time.Millisecond)}, nil },
			Usage: func() measurement.Usage { return measurement.Usage{CPU: 2 * time.Since(begin), Cores: 2} },
		})
		require.NoError(t, err)
		l := rep.Levels[0]
		require.InDelta(t, 1, l.Process.Busy(), 0.001)
		require.Empty(t, l.ClientLimit)
		require.Equal(t, perf.Grade("A"), l.Grade)
	})
}

func TestErrorsAreTolerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.fail = func(n uint64) error {
			if n%10 == 0 {
				return status.New(status.Internal, "no luck today")
			}
			return nil
		}
		rep, ev, err := measure(t, f, func(c *perf.Config) { c.TolerateErrors = true })
		require.NoError(t, err)
		l := rep.Levels[0]
		require.InDelta(t, l.Requests, 9*l.Errors, 20)
		require.Equal(t, perf.Grade("F"), l.Grade)
		require.Regexp(t, `^WARNING: \d+ requests failed, the last one with: no luck today$`, ev.notices()[0])

		_, ev, err = measure(t, f, func(c *perf.Config) { c.TolerateErrors, c.RequestCount = true, 100 })
		require.NoError(t, err)
		require.Contains(t, ev.notices(), "WARNING: 10 requests failed, the last one with: no luck today")

		f.fail = func(uint64) error { return status.New(status.Internal, "no luck at all") }
		_, ev, err = measure(t, f, func(c *perf.Config) { c.TolerateErrors = true })
		require.ErrorIs(t, err, perf.ErrNoRequests)
		require.Regexp(t, `^WARNING: \d+ requests failed, the last one with: no luck at all$`, ev.notices()[0], "the reason")

		f.fail = func(uint64) error { return errors.New("the connection is broken") }
		_, _, err = measure(t, f, func(c *perf.Config) { c.TolerateErrors = true })
		require.ErrorIs(t, err, load.ErrLoad, "it is not the server's answer")
	})
}

func goal(figure string, width float64) func(*perf.Config) {
	return func(c *perf.Config) { c.StopWhen = []perf.Goal{{Figure: figure, Width: width}} }
}

func TestGoalsEndALevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		begin := time.Now()
		rep, _, err := measure(t, f, goal(perf.ThroughputFigure, 0.02))
		require.NoError(t, err)
		l := rep.Levels[0]
		require.True(t, l.Stable)
		require.LessOrEqual(t, time.Since(begin), 2*time.Second, "narrow at the first two looks")
		require.InDelta(t, 1000, l.Throughput, 2)
		require.Len(t, l.Widths, 1)
		require.LessOrEqual(t, l.Widths[0].Is, 0.02)
		require.EqualValues(t, l.Requests, l.Server.Success.Count, "the server's counters cover the same time")
	})
}

// The beginning of a level that is slower than the rest does not count.
func TestGoalsWithoutTheTransient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		begin := time.Now()
		f.latency = func(uint64) time.Duration {
			if time.Since(begin) < 700*time.Millisecond {
				return 5 * time.Millisecond
			}
			return time.Millisecond
		}
		rep, _, err := measure(t, f, goal(perf.AverageFigure, 0.02))
		require.NoError(t, err)
		l := rep.Levels[0]
		require.Equal(t, time.Millisecond, l.MaxLatency)
		require.GreaterOrEqual(t, l.WarmUp.Duration, 700*time.Millisecond)
		require.Less(t, l.WarmUp.Duration, 1600*time.Millisecond)
		require.InDelta(t, 140, l.WarmUp.Requests, 1000)
		require.EqualValues(t, l.Requests, l.Server.Success.Count)
	})
}

func TestGoalsThatAreNotMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		begin := time.Now()
		f.latency = func(uint64) time.Duration { return time.Millisecond + time.Since(begin)/1000 }
		rep, ev, err := measure(t, f, goal("p99", 0.05))
		require.NoError(t, err)
		require.True(t, rep.Unstable)
		l := rep.Failed[0]
		require.Positive(t, l.Requests, "there is a result")
		require.InDelta(t, 12, time.Since(begin).Seconds(), 0.1, "the time of all windows")
		require.Regexp(t, `^Failed to obtain stable measurement within [\d.]+ sec: the interval of p99 is .*, and ±5 % is wanted\.`, ev.notices()[0])
		require.Equal(t, perf.Grade("E"), l.Grade)

		f.latency = func(uint64) time.Duration { return 900 * time.Millisecond }
		rep, ev, err = measure(t, f, goal(perf.ThroughputFigure, 0.05))
		require.NoError(t, err)
		require.InDelta(t, 13, rep.Failed[0].Requests, 1, "empty windows count")
		require.Contains(t, ev.notices()[0], "the interval of throughput is not known: the requests are too few or too varied")

		f.latency = func(uint64) time.Duration { return time.Hour }
		_, _, err = measure(t, f, goal(perf.ThroughputFigure, 0.05))
		require.ErrorIs(t, err, perf.ErrNoRequests)
	})
}

func TestGoalsUnderALatencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5 * time.Millisecond)
		begin := time.Now()
		rep, _, err := measure(t, f, func(c *perf.Config) {
			c.StopWhen = []perf.Goal{{Figure: "p99.9", Width: 0.001}}
			c.Range, c.LatencyLimit = perf.Range{Start: 1, Step: 1}, 5*time.Millisecond
		})
		require.NoError(t, err)
		require.True(t, rep.Failed[0].OverLimit)
		require.Less(t, time.Since(begin), 2*time.Second)
	})
}

// A level that is slower than another one with confidence need not be measured precisely.
func TestGoalsBelowARival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for rival, precise := range map[float64]bool{300: false, 90: true} {
			f := newFake(0)
			r := rand.New(rand.NewPCG(1, 2))
			f.latency = func(uint64) time.Duration { return time.Duration(5+10*r.Float64()) * time.Millisecond }
			begin := time.Now()
			rep, _, err := measure(t, f, func(c *perf.Config) {
				c.StopWhen, c.StopBelow = []perf.Goal{{Figure: perf.ThroughputFigure, Width: 0.002}}, rival
			})
			require.NoError(t, err)
			if precise {
				require.Greater(t, time.Since(begin), 5*time.Second)
				continue
			}
			require.True(t, rep.Levels[0].Stable)
			require.Less(t, time.Since(begin), 2*time.Second)
			require.InDelta(t, 100, rep.Levels[0].Throughput, 10)
			require.Less(t, rep.Levels[0].ThroughputInterval.High, rival)
		}
	})
}

func TestGoalsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(700*time.Millisecond, func() { close(stop) })
		c := perf.DefaultConfig("simple")
		goal(perf.ThroughputFigure, 0.02)(&c)
		rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: newFake(time.Millisecond).dial, Interrupt: stop})
		require.NoError(t, err)
		require.True(t, rep.Interrupted)
		require.True(t, rep.Levels[0].Incomplete)
		require.InDelta(t, 700, rep.Levels[0].Requests, 5)
	})
}

// TestGoalsWithoutFigures: only the throughput decides the stability of asynchronous calls.
func TestGoalsWithoutFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			fake   *fake
			change func(*perf.Config)
			want   []string
		}{
			"synchronous":     {newFake(time.Millisecond), nil, []string{"throughput", "avg"}},
			"with percentile": {newFake(time.Millisecond), func(c *perf.Config) { c.Percentile = 99.5 }, []string{"throughput", "p99.5"}},
			"asynchronous":    {newFake(time.Millisecond), func(c *perf.Config) { c.Async = true }, []string{"throughput"}},
			"sequences":       {newFake(time.Millisecond, sequence("simple")), nil, []string{"throughput"}},
		} {
			rep, _, err := measure(t, c.fake, func(p *perf.Config) {
				p.StopWhen = []perf.Goal{{Width: 0.5}}
				if c.change != nil {
					c.change(p)
				}
			})
			require.NoError(t, err, name)
			var got []string
			for _, w := range rep.Levels[0].Widths {
				got = append(got, w.Figure)
			}
			require.Equal(t, c.want, got, name)
		}
	})
}

func TestWrongGoals(t *testing.T) {
	t.Parallel()
	for want, g := range map[string]perf.Goal{
		`perf: "p0" is no figure`:    {Figure: "p0", Width: 0.1},
		`perf: "speed" is no figure`: {Figure: "speed", Width: 0.1},
		"must be more than 0 % and":  {Figure: "p50", Width: 0},
		"less than 100 %, not 100 %": {Figure: perf.ThroughputFigure, Width: 1},
	} {
		_, _, err := measure(t, newFake(0), goal(g.Figure, g.Width))
		require.ErrorContains(t, err, want)
	}
	_, _, err := measure(t, newFake(0), func(c *perf.Config) { goal("avg", 0.1)(c); c.RequestCount = 9 })
	require.EqualError(t, err, "perf: goals and a number of requests both say when a level ends")
}

func TestNumberOfLevels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*perf.Config)
		want   int
	}{
		{func(*perf.Config) {}, 1},
		{func(c *perf.Config) { c.Range = perf.Range{Start: 1, End: 8, Step: 3} }, 3},
		{func(c *perf.Config) { c.Range.List = []float64{1, 2, 4}; c.Batches = []int{1, 8} }, 6},
		{func(c *perf.Config) { c.Range.End = 0 }, 0},
		{func(c *perf.Config) { c.Range.List = []float64{1, 8}; c.Repeats = 3 }, 6},
		{func(c *perf.Config) { c.Search, c.Range.End = perf.Binary, 9 }, 0},
		{func(c *perf.Config) { c.Mode, c.Range.End = perf.Intervals, 9 }, 1},
	} {
		config := perf.DefaultConfig("m")
		c.change(&config)
		require.Equal(t, c.want, config.Levels())
	}
}
