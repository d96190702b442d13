package perf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/load"
	"triton/perf/report"
	"triton/pkg/client"
	"triton/pkg/inferencepb"
	"triton/pkg/sharedtest"
	"triton/pkg/status"
)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?`)

// mask hides the figures, which differ from run to run, and the names of
// models.
func mask(text []byte) string { return digits.ReplaceAllString(string(text), "N") }

// scenario is a run on the fake server with its expected output.
type scenario struct {
	name    string
	setup   func(*fake, *perf.Config)
	verbose bool
	csv     bool // with the longer CSV
	models  []*client.ModelConfig
	masked  bool // like NVIDIA's text of testdata/perf_analyzer
}

func scenarios() []scenario {
	grpc := func(f *fake) { f.protocol = client.GRPC }
	return []scenario{
		{name: "plain", masked: true},
		{name: "grpc", masked: true, setup: func(f *fake, c *perf.Config) { grpc(f); c.Range.End = 3 }},
		{name: "verbose", masked: true, verbose: true, csv: true},
		{name: "gverbose", masked: true, verbose: true, csv: true, setup: func(f *fake, c *perf.Config) { grpc(f) }},
		{name: "pct", masked: true, csv: true, setup: func(f *fake, c *perf.Config) { c.Percentile = 97 }},
		{name: "async", masked: true, setup: func(f *fake, c *perf.Config) { c.Async, c.Range.Start = true, 2 }},
		{name: "count", masked: true, setup: func(f *fake, c *perf.Config) {
			c.Windows, c.Samples, c.Batches = perf.CountWindows, 100, []int{4}
		}},
		{name: "limit", masked: true, setup: func(f *fake, c *perf.Config) {
			c.Range.End, c.LatencyLimit = 3, 100*time.Millisecond
		}},
		{name: "binary", masked: true, setup: func(f *fake, c *perf.Config) {
			c.Range.End, c.LatencyLimit, c.Search = 4, 100*time.Millisecond, perf.Binary
		}},
		{name: "reqcount", masked: true, setup: func(f *fake, c *perf.Config) {
			c.RequestCount, c.Windows, c.Samples = 50, perf.CountWindows, 50
		}},
		{name: "warm", masked: true, setup: func(f *fake, c *perf.Config) { c.WarmupCount = 10 }},
		{name: "ens4", masked: true, models: []*client.ModelConfig{
			ensemble("top", "ens3", "simple"), config("simple"), ensemble("ens3", "plus", "simple"), config("plus"),
		}},
		{name: "ens2", masked: true, models: []*client.ModelConfig{
			ensemble("top", "cached", "simple"), cached(config("cached")), config("simple"),
		}},
		{name: "cached", masked: true, models: []*client.ModelConfig{cached(config("simple"))}},
		{name: "rate", masked: true, csv: true, setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Range = perf.RequestRate, perf.Range{Start: 100, End: 200, Step: 100}
		}},
		{name: "poisson", masked: true, verbose: true, setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Range.Start, c.Distribution, c.Stability = perf.RequestRate, 100, perf.Poisson, 5
		}},
		{name: "intervals", masked: true, setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Intervals = perf.Intervals, []time.Duration{5 * time.Millisecond, 12 * time.Millisecond}
			late(f, c)
		}},
		{name: "binaryrate", masked: true, setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Search, c.LatencyLimit = perf.RequestRate, perf.Binary, 500*time.Millisecond
			c.Range = perf.Range{Start: 10, End: 80, Step: 10}
		}},
		{name: "ratecount", masked: true, setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Range.Start = perf.RequestRate, 100
			c.RequestCount, c.Windows, c.Samples = 200, perf.CountWindows, 200
		}},
		{name: "toofast", setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Range.Start, c.MaxInFlight, c.MaxTrials, c.Stability = perf.RequestRate, 1000, 1, 3, 10
		}},
		{name: "sequence", masked: true, models: []*client.ModelConfig{sequence("simple")}, setup: func(f *fake, c *perf.Config) {
			c.Range = perf.Range{Start: 2, End: 1, Step: 1}
		}},
		{name: "sequencerate", masked: true, models: []*client.ModelConfig{sequence("simple")}, setup: func(f *fake, c *perf.Config) {
			c.Mode, c.Range.Start, c.Stability = perf.RequestRate, 100, 1
		}},
		{name: "schedule", csv: true, verbose: true, setup: func(f *fake, c *perf.Config) {
			fixedSchedule(c)
			c.WarmupCount, c.Seed = 1, 7
		}},
		{name: "sweep", setup: func(f *fake, c *perf.Config) { c.Batches = []int{1, 2, 3, 8}; c.Range.End = 2 }},
		{name: "nostatistics", csv: true, setup: func(f *fake, c *perf.Config) { f.extensions = nil }},
		{name: "repeat", setup: func(f *fake, c *perf.Config) {
			c.Range.List, c.Repeats = []float64{1, 8}, 2
		}},
		{name: "slow", verbose: true, setup: func(f *fake, c *perf.Config) {
			f.latency = func(uint64) time.Duration { return 770 * time.Millisecond }
		}},
	}
}

// late makes some requests late: one that waits for the only lane.
func late(f *fake, c *perf.Config) {
	c.MaxInFlight = 1
	f.latency = func(n uint64) time.Duration {
		if n%20 == 0 {
			return 8 * time.Millisecond
		}
		return 1700 * time.Microsecond
	}
}

// TestReports runs whole measurements on a clock of the test's own, so that
// every figure is the same each time.
func TestReports(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// No multiple of the latency is the end of a window.
				f := newFake(1700*time.Microsecond, sc.models...)
				c := perf.DefaultConfig("simple")
				c.Interval = time.Second
				if sc.models != nil {
					c.Model = sc.models[0].GetName()
				}
				if sc.setup != nil {
					sc.setup(f, &c)
				}
				var out, notes bytes.Buffer
				rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: f.dial, Observer: report.NewConsole(&out, &notes, sc.verbose)})
				require.NoError(t, err)
				console := bytes.Clone(out.Bytes())
				if len(rep.Levels) > 0 {
					out.WriteString("--- csv\n")
					require.NoError(t, report.WriteCSV(&out, rep, report.CSVOptions{Verbose: sc.csv, Notes: &notes}))
					for _, p := range report.ComposingModels(rep) {
						out.WriteString("--- csv of " + p.Model + "\n")
						require.NoError(t, report.WriteComposingCSV(&out, rep, p, report.CSVOptions{Notes: &notes}))
					}
					out.WriteString("--- table\n")
					require.NoError(t, report.WriteTable(&out, rep, false))
				}
				out.WriteString("--- notes\n")
				out.Write(notes.Bytes())
				golden(t, sc.name+".txt", out.Bytes())
				if sc.masked {
					want, err := os.ReadFile(filepath.Join("testdata", "perf_analyzer", sc.name+".txt"))
					require.NoError(t, err)
					// Later versions than the recorded one write the singular.
					want = bytes.ReplaceAll(want, []byte("inference requests per seconds\n"), []byte("inference requests per second\n"))
					require.Equal(t, mask(want), mask(console), "NVIDIA's text")
				}
			})
		})
	}
}

func measure(t *testing.T, f *fake, change func(*perf.Config)) (*perf.Report, *events, error) {
	t.Helper()
	c := perf.DefaultConfig("simple")
	c.Interval = time.Second
	if change != nil {
		change(&c)
	}
	var ev events
	rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: f.dial, Observer: &ev})
	return rep, &ev, err
}

func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.latency = func(n uint64) time.Duration { // 1, 2, ... 10 ms
			return time.Duration(n%10+1) * time.Millisecond
		}
		rep, _, err := measure(t, f, nil)
		require.NoError(t, err)
		require.Len(t, rep.Levels, 1)
		l := rep.Levels[0]
		require.Equal(t, 3, l.Trials)
		require.Equal(t, 3600*time.Millisecond, l.Duration, "three windows of 1.2 times the interval")
		require.InDelta(t, 3600/5.5, l.Requests, 4)
		require.InDelta(t, 1000/5.5, l.Throughput, 1)
		require.InDelta(t, float64(5500*time.Microsecond), float64(l.AvgLatency), float64(20*time.Microsecond))
		require.Equal(t, 10*time.Millisecond, l.Latency(99))
		require.InDelta(t, 5.5, l.Latency(50).Seconds()*1000, 0.5)
		require.Zero(t, l.Latency(1))
		require.EqualValues(t, l.Requests, l.Server.Success.Count)
		require.Equal(t, 2*time.Microsecond, l.Client.Send)
		require.Zero(t, l.Overhead, "the fake takes no time of its own")
	})
}

func TestUnstable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.latency = func(n uint64) time.Duration { return time.Duration(min(n, 150)) * time.Millisecond }
		rep, ev, err := measure(t, f, func(c *perf.Config) { c.Range.End = 3 })
		require.NoError(t, err)
		require.True(t, rep.Unstable)
		require.Len(t, rep.Failed, 1)
		require.Equal(t, 10, rep.Failed[0].Trials)
		require.Len(t, rep.Levels, 2, "the sweep goes on")
		measured := rep.Measured()
		require.Len(t, measured, 3)
		require.Equal(t, []bool{false, true, true}, []bool{measured[0].Stable, measured[1].Stable, measured[2].Stable})
		require.Equal(t, []string{"Failed to obtain stable measurement within 10 measurement windows for concurrency 1. Please try to increase the --measurement-interval."}, ev.notices())
	})
}

func TestAsyncFallsBackToThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		start := time.Now()
		// In each pair of requests one is slower by as much as the other is faster, and the
		// difference grows from window to window: the throughput is stable, the p99 is not.
		f.latency = func(n uint64) time.Duration {
			d := min(9, time.Since(start)/(1200*time.Millisecond)) * 100 * time.Microsecond
			if n%2 == 0 {
				d = -d
			}
			return time.Millisecond + d
		}
		stabilizeP99 := func(c *perf.Config) { c.MaxTrials, c.Percentile = 4, 99 }
		rep, _, err := measure(t, f, stabilizeP99)
		require.NoError(t, err)
		require.True(t, rep.Unstable, "synchronous calls must have a stable latency")
		start = time.Now()
		rep, ev, err := measure(t, f, func(c *perf.Config) { stabilizeP99(c); c.Async = true })
		require.NoError(t, err)
		require.Len(t, rep.Levels, 1)
		require.Equal(t, []string{"Warning: Request latency is not stabilizing. Please try lowering the request rate."}, ev.notices())
	})
}

func TestLatencyLimitStopsTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.latency = func(uint64) time.Duration { return 5 * time.Millisecond }
		rep, ev, err := measure(t, f, func(c *perf.Config) {
			c.Range = perf.Range{Start: 1, End: 0, Step: 1}
			c.LatencyLimit = 5 * time.Millisecond
		})
		require.NoError(t, err)
		require.Empty(t, rep.Levels)
		require.True(t, rep.Failed[0].OverLimit)
		require.False(t, rep.Unstable)
		require.Equal(t, []string{"Measured latency went over the set limit of 5 msec. "}, ev.notices())
	})
}

func TestNoRequestInTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, _, err := measure(t, newFake(time.Hour), nil)
		require.ErrorIs(t, err, perf.ErrNoRequests)
		require.Empty(t, rep.Levels)
	})
}

func TestFailedRequestEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.fail = func(n uint64) error {
			if n > 99 {
				return status.New(status.Internal, "no luck today")
			}
			return nil
		}
		start := time.Now()
		_, _, err := measure(t, f, func(c *perf.Config) { c.Range = perf.Range{Start: 3, End: 3, Step: 1} })
		var le *perf.LoadError
		require.ErrorAs(t, err, &le)
		require.ErrorIs(t, err, load.ErrLoad)
		require.Len(t, le.Failures, 3)
		require.EqualError(t, le.Failures[1].Err, "no luck today")
		require.Less(t, time.Since(start), time.Second, "the window is not waited for")
	})
}

func TestInterruptReportsTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		stop := make(chan struct{})
		time.AfterFunc(1700*time.Millisecond, func() { close(stop) })
		c := perf.DefaultConfig("simple")
		c.Interval, c.Range.End, c.Batches = time.Second, 4, []int{1, 2}
		rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: f.dial, Interrupt: stop})
		require.NoError(t, err)
		require.True(t, rep.Interrupted)
		require.Len(t, rep.Levels, 1)
		require.True(t, rep.Levels[0].Incomplete)
		require.Equal(t, 2, rep.Levels[0].Trials)
		require.InDelta(t, 1700, rep.Levels[0].Requests, 3)
	})
}

// TestStartOfAnInterruptedLevel: the time for the requests in flight is not part of the level.
func TestStartOfAnInterruptedLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, begin := newFake(0), time.Now()
		f.latency = func(uint64) time.Duration {
			if time.Since(begin) > time.Second {
				return 20 * time.Second
			}
			return time.Millisecond
		}
		stop := make(chan struct{})
		time.AfterFunc(2*time.Second, func() { close(stop) })
		rep, err := perf.Run(t.Context(), perf.DefaultConfig("simple"), perf.Deps{Dial: f.dial, Interrupt: stop})
		require.NoError(t, err)
		require.Equal(t, 21*time.Second+time.Millisecond, time.Since(begin).Truncate(time.Millisecond))
		require.WithinDuration(t, begin, rep.Levels[0].Detail.Start, 10*time.Millisecond)
	})
}

// TestInterruptWhileARequestIsNotAnswered: neither the next level nor the results wait for it.
func TestInterruptWhileARequestIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			lost      time.Duration // when the server stops answering one request
			interrupt time.Duration
			takes     time.Duration
			levels    int
		}{
			"between levels": {3590 * time.Millisecond, 10 * time.Second, 10 * time.Second, 1},
			"in a level":     {500 * time.Millisecond, 2 * time.Second, 32 * time.Second, 1},
		} {
			f, begin := newFake(0), time.Now()
			var lost atomic.Bool
			f.latency = func(uint64) time.Duration {
				if time.Since(begin) > c.lost && lost.CompareAndSwap(false, true) {
					return 24 * time.Hour
				}
				return time.Millisecond
			}
			stop := make(chan struct{})
			time.AfterFunc(c.interrupt, func() { close(stop) })
			config := perf.DefaultConfig("simple")
			config.Interval, config.Range = time.Second, perf.Range{List: []float64{2, 4}}
			rep, err := perf.Run(t.Context(), config, perf.Deps{Dial: f.dial, Interrupt: stop})
			require.NoError(t, err, name)
			require.True(t, rep.Interrupted, name)
			require.Len(t, rep.Levels, c.levels, name)
			require.Equal(t, c.takes, time.Since(begin).Truncate(10*time.Millisecond), name)
		}
	})
}

// TestConnectionsThatDoNotOpen: a level that cannot begin ends with an error, or with the interrupt.
func TestConnectionsThatDoNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, begin := newFake(time.Millisecond), time.Now()
		f.dialTime = time.Hour
		_, _, err := measure(t, f, nil)
		require.ErrorContains(t, err, "connecting: the server did not answer within 30s")
		require.Equal(t, 30*time.Second, time.Since(begin))
		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		begin = time.Now()
		rep, err := perf.Run(t.Context(), perf.DefaultConfig("simple"), perf.Deps{Dial: f.dial, Interrupt: stop})
		require.NoError(t, err)
		require.True(t, rep.Interrupted)
		require.Empty(t, rep.Levels)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

// TestLatenessOfWindows: the figures after each window say how late its requests started.
func TestLatenessOfWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ev, err := measure(t, newFake(5*time.Millisecond), func(c *perf.Config) {
			c.Mode, c.Range.Start, c.MaxInFlight, c.Stability = perf.RequestRate, 1000, 1, 10
		})
		require.NoError(t, err)
		windows := 0
		for _, e := range ev.all {
			if w, ok := e.(perf.WindowDone); ok {
				windows++
				require.Equal(t, w.Summary.Requests, w.Summary.Schedule.Delayed, "a fifth of the rate is possible")
				require.Greater(t, w.Summary.Schedule.MaxLate, w.Summary.Schedule.AvgLate)
			}
		}
		require.Equal(t, 3, windows)
	})
}

func TestInterruptBeforeAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		close(stop)
		c := perf.DefaultConfig("simple")
		rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: newFake(time.Second).dial, Interrupt: stop})
		require.NoError(t, err)
		require.True(t, rep.Interrupted)
		require.Empty(t, rep.Levels)
	})
}

func TestCancelEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := perf.Run(ctx, perf.DefaultConfig("simple"), perf.Deps{Dial: newFake(time.Hour).dial})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestRequestCountIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(5 * time.Millisecond)
		rep, _, err := measure(t, f, func(c *perf.Config) { c.RequestCount = 10 })
		require.NoError(t, err)
		require.EqualValues(t, 10, f.requests.Load())
		require.Equal(t, 10, rep.Levels[0].Requests)
		require.InDelta(t, 200, rep.Levels[0].Throughput, 0.01, "10 requests of 5 ms")
	})
}

func TestSetupErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fake   *fake
		change func(*perf.Config)
		want   string
	}{
		"unknown model": {newFake(0), func(c *perf.Config) { c.Model = "nosuch" }, "failed to get model metadata: Request for unknown model: 'nosuch' is not found"},
		"batch": {
			newFake(0, func() *client.ModelConfig { c := config("simple"); c.MaxBatchSize = 0; return c }()),
			func(c *perf.Config) { c.Batches = []int{2} }, "can not specify batch size > 1 as the model does not support batching",
		},
		"no end":     {newFake(0), func(c *perf.Config) { c.Range.End = 0 }, "can not be both 0"},
		"start":      {newFake(0), func(c *perf.Config) { c.Range.Start = 0 }, "must be > 0"},
		"no model":   {newFake(0), func(c *perf.Config) { c.Model = "" }, "no model"},
		"no batches": {newFake(0), func(c *perf.Config) { c.Batches = nil }, "batch sizes"},
		"composing":  {newFake(0, ensemble("simple", "missing")), nil, "failed to create model parser: Request for unknown model: 'missing'"},
		"circle":     {newFake(0, ensemble("simple", "b"), ensemble("b", "simple")), nil, "ensemble simple contains itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := measure(t, c.fake, c.change)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := perf.Run(t.Context(), perf.DefaultConfig("m"), perf.Deps{Dial: func(context.Context) (perf.Target, error) { return nil, errors.New("no way") }})
	require.EqualError(t, err, "failed to create triton client backend: no way")
}

// The counters of a version that executed no requests are not read.
func TestNoVersionWithRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.grew["simple"] = 0
		_, _, err := measure(t, f, func(c *perf.Config) { c.MaxTrials = 3 })
		require.ErrorIs(t, err, perf.ErrNoExecutions)
		require.ErrorContains(t, err, "failed to find the requested model version")
	})
}

// Hits of an ensemble's cache leave its models idle: they have no executions, and that is no error.
func TestCachedEnsembleWithIdleModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond, cached(ensemble("simple", "step")), config("step"))
		f.grew["step"] = 0
		rep, _, err := measure(t, f, nil)
		require.NoError(t, err)
		require.Len(t, rep.Levels, 1)
		require.Equal(t, "step", rep.Levels[0].Server.Composing[0].Model)
		require.Zero(t, rep.Levels[0].Server.Composing[0].Executions)
	})
}

// A window after one whose statistics could not be read does not count what the server did
// before it.
func TestMissingStatisticsAreNotZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.requests.Store(1_000_000) // before the run
		calls := 0
		f.statistics = func() error {
			if calls++; calls == 3 { // at the end of the first window
				return errors.New("not now")
			}
			return nil
		}
		rep, _, err := measure(t, f, func(c *perf.Config) {})
		require.NoError(t, err)
		require.InDelta(t, rep.Levels[0].Requests, rep.Levels[0].Server.Success.Count, 3)
	})
}

// Without the permission to read statistics the client's part is measured alone.
func TestDeniedStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.statistics = func() error { return &status.Error{Msg: "key may not read statistics", Cause: client.ErrDenied} }
		rep, events, err := measure(t, f, nil)
		require.NoError(t, err)
		require.Nil(t, rep.Levels[0].Server)
		require.False(t, rep.Settings.ServerStats)
		require.Contains(t, fmt.Sprint(events), "WARNING: the server's part of the latency is not measured: server statistics: key may not read statistics")
	})
}

func TestDecoupledModelsHaveNoClientTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := config("simple")
		m.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
		rep, _, err := measure(t, newFake(time.Millisecond, m), func(c *perf.Config) { c.Streaming = true })
		require.NoError(t, err)
		require.Zero(t, rep.Levels[0].Client)
		require.Positive(t, rep.Levels[0].AvgLatency)
	})
}

func TestFinishedIsTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(time.Millisecond)
		f.setTraces = func(n int) error {
			if n == 2 { // to restore the settings
				return errors.New("not now")
			}
			return nil
		}
		_, ev, err := measure(t, f, func(c *perf.Config) { c.Trace = client.TraceSettings{"trace_rate": {"7"}} })
		require.NoError(t, err)
		require.Contains(t, ev.notices(), "WARNING: the server's trace settings stay changed: not now")
		require.IsType(t, perf.Finished{}, ev.all[len(ev.all)-1])
	})
}

func TestProgressIsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2 * time.Millisecond)
		var ev events
		done := make(chan struct{})
		c := perf.DefaultConfig("simple")
		c.Interval, c.Live = time.Second, true
		go func() {
			defer close(done)
			_, _ = perf.Run(t.Context(), c, perf.Deps{Dial: f.dial, Observer: &ev})
		}()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		var started perf.Started
		for _, e := range ev.all {
			if s, ok := e.(perf.Started); ok {
				started = s
			}
		}
		p := started.Progress()
		require.Equal(t, 1, p.Load.Concurrency())
		require.Equal(t, 2, p.Trial)
		require.InDelta(t, 300, p.InWindow.Seconds()*1000, 4, "after the first response")
		require.Equal(t, 1200*time.Millisecond, p.Window)
		require.InDelta(t, 750, p.Requests, 2)
		require.InEpsilon(t, 2*time.Millisecond, p.P99, 0.07)
		require.Equal(t, [3]int{1, 1, 10}, [3]int{p.Level, p.Levels, p.MaxTrials})
		require.InDelta(t, 2100*time.Millisecond, p.LevelLeft, float64(5*time.Millisecond), "the rest of the second window and a third one")
		require.Equal(t, p.LevelLeft, p.Left)
		require.Len(t, p.Timeline, 1, "since the start of the level")
		require.InDelta(t, 500, p.Timeline[0].Throughput, 2)
		require.InEpsilon(t, 2*time.Millisecond, p.Timeline[0].P99, 0.07)
		time.Sleep(100 * time.Millisecond)
		require.Len(t, started.Progress().Timeline, 1, "the next tick is not over")
		<-done
		p = started.Progress()
		require.InDelta(t, 0.1, p.SpreadLimit, 1e-9)
		require.Less(t, p.Spread.Throughput, 0.01)
	})
}

func TestMetricsAreCollected(t *testing.T) {
	t.Parallel()
	var page atomic.Value
	page.Store(`# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 1.6e+10
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 2e+10
# TYPE nv_inference_request_summary_us summary
nv_inference_request_summary_us{model="m",version="1",quantile="0.5"} Nan
nv_inference_request_summary_us_sum{model="m",version="1"} 12
nv_inference_request_summary_us_count{model="m",version="1"} 3
nv_cpu_utilization 0.3`)
	var code atomic.Int32
	code.Store(http.StatusOK)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(code.Load()))
		_, _ = io.WriteString(w, page.Load().(string))
	}))
	defer s.Close()
	collect := func(url string) func(*perf.Config) {
		return func(c *perf.Config) {
			c.CollectMetrics, c.MetricsURL = true, url
			c.Interval, c.MetricsInterval, c.Stability, c.MaxTrials = 300*time.Millisecond, 10*time.Millisecond, 1e9, 3
		}
	}
	rep, ev, err := measure(t, newFake(time.Millisecond), collect(strings.TrimPrefix(s.URL, "http://")))
	require.NoError(t, err)
	g := rep.Levels[0].GPU
	require.InDelta(t, 0.5, g.Utilization["GPU-1"], 1e-9)
	require.Equal(t, map[string]float64{"GPU-1": 1.6e10}, g.MemoryUsed)
	require.Equal(t, map[string]float64{"GPU-1": 2e10}, g.MemoryTotal)
	require.Empty(t, g.Power)
	require.Contains(t, ev.notices(), "WARNING: Unable to parse 'nv_gpu_power_usage' metric.")

	page.Store("nv_other{broken 3\n")
	_, _, err = measure(t, newFake(time.Millisecond), collect(s.URL))
	require.ErrorContains(t, err, "metrics endpoint: text format parsing error in line 1: expected '=' after label name")

	code.Store(http.StatusInternalServerError)
	_, _, err = measure(t, newFake(time.Millisecond), collect(s.URL))
	require.EqualError(t, err, "Metrics endpoint curling did not succeed.")
	_, _, err = measure(t, newFake(time.Millisecond), collect("127.0.0.1:1/metrics"))
	require.EqualError(t, err, "Unable to connect to Metrics endpoint 127.0.0.1:1/metrics")
}
