package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/pkg/sharedtest"
	"triton/pkg/ui"
)

// sweep is a run of five levels with everything that the view can show.
func sweep() perf.Settings {
	s := perf.Settings{Config: perf.DefaultConfig("m"), Protocol: "HTTP", ServerStats: true}
	s.Range = perf.Range{List: []float64{1, 2, 4, 8, 64}}
	return s
}

// timeline rises and falls; one tick has no requests.
func timeline(n int) (all []perf.Tick) {
	for i := range n {
		t := perf.Tick{Throughput: 240 * float64(i%8+1), P99: time.Duration(i%5+1) * 400 * time.Microsecond, Requests: 9}
		if i == n-3 {
			t = perf.Tick{}
		}
		all = append(all, t)
	}
	return all
}

func window() *perf.Summary {
	s := &perf.Summary{Requests: 1000, Throughput: 1900, Server: &perf.ServerStats{
		Inferences: 4000, Executions: 1000, Queue: perf.Statistic{Count: 1000, Ns: 12_400_000}, ComputeInput: perf.Statistic{Count: 1000, Ns: 3_000_000},
		ComputeInfer: perf.Statistic{Count: 1000, Ns: 410_000_000}, ComputeOutput: perf.Statistic{Count: 1000, Ns: 2_100_000},
	}}
	s.GPU = gpus(1)
	return s
}

// capture is a run on a terminal of the test. Its clock is that of a synctest bubble.
type capture struct {
	terminal *sharedtest.Screen
	screen   *Screen
	progress atomic.Pointer[perf.Progress]
	frames   strings.Builder
}

func start(width, height int, s perf.Settings) *capture {
	c := &capture{terminal: sharedtest.NewScreen(width, height)}
	c.progress.Store(&perf.Progress{})
	c.screen = NewScreen(ScreenOptions{Out: c.terminal, Notes: c.terminal, Live: c.terminal, OutShared: true, NotesShared: true})
	c.screen.Observe(perf.Started{Settings: s, Progress: func() perf.Progress { return *c.progress.Load() }})
	return c
}

// frame waits until the view shows p and keeps what is on the terminal, from the level on.
func (c *capture) frame(name string, p perf.Progress) {
	c.progress.Store(&p)
	time.Sleep(time.Second)
	synctest.Wait()
	text := c.terminal.String()
	text = text[max(0, strings.LastIndex(text, "Request concurrency:")):]
	fmt.Fprintf(&c.frames, "--- %s\n%s\n", name, text)
}

func (c *capture) end(t *testing.T) string {
	t.Helper()
	require.NoError(t, c.screen.Close())
	time.Sleep(time.Second) // the last timer of the view
	fmt.Fprintf(&c.frames, "--- the end\n%s\n", c.terminal)
	require.Empty(t, c.terminal.Unknown())
	return c.frames.String()
}

// TestLiveCapture compares what a terminal shows of a run, at three widths, with golden files.
func TestLiveCapture(t *testing.T) {
	for _, width := range []int{40, 80, 140} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				golden(t, fmt.Sprintf("live_%d.txt", width), captureSweep(t, width))
			})
		})
	}
}

func captureSweep(t *testing.T, width int) string {
	c := start(width, 60, sweep())
	p := perf.Progress{Batch: 1, Load: perf.Load{Value: 4}, Level: 3, Levels: 5, Window: 6 * time.Second, MaxTrials: 10, SpreadLimit: 0.1}
	for i, v := range []float64{1, 2} {
		l := level(100 * v)
		l.Number, l.Load.Value, l.Stable = i+1, v, i == 0
		c.screen.Observe(perf.LevelDone{Level: &l})
	}
	c.screen.Observe(perf.LevelStarted{Batch: 1, Load: p.Load})
	p.WarmingUp, p.Elapsed = true, 700*time.Millisecond
	c.frame("warming up", p)
	p.WarmingUp, p.Trial, p.InWindow, p.Elapsed, p.Requests = false, 1, 2*time.Second, 2*time.Second, 3600
	p.P50, p.P90, p.P95, p.P99 = 900*time.Microsecond, 1100*time.Microsecond, 1200*time.Microsecond, 1414*time.Microsecond
	p.LevelLeft, p.Left, p.Timeline = 16*time.Second, 52*time.Second, timeline(4)
	c.frame("the first window", p)
	c.screen.Observe(perf.WindowDone{Trial: 1, Summary: window()})
	p.Trial, p.InWindow, p.Elapsed, p.Requests, p.Timeline = 4, 3600*time.Millisecond, 21600*time.Millisecond, 41000, timeline(43)
	p.Spread, p.SpreadLimit = perf.Spread{Throughput: 0.124, Latency: 0.041}, 0.1
	p.Process = &perf.Process{CPU: 1300 * time.Millisecond, Duration: time.Second, Cores: 2, Probes: 50, DelayP99: 130 * time.Microsecond}
	c.frame("windows differ", p)
	c.screen.Observe(perf.WindowDone{Trial: 4, Err: errors.New("No valid requests recorded within time interval.")})
	p.Errors, p.Process.CPU = 3, 1900*time.Millisecond
	c.frame("a window failed", p)
	l := level(1900)
	l.Number = 3
	c.screen.Observe(perf.LevelDone{Level: &l})
	c.screen.Observe(perf.LevelStarted{Batch: 1, Load: perf.Load{Value: 8}})
	p = perf.Progress{Batch: 1, Load: perf.Load{Value: 8}, Level: 4, Levels: 5, Trial: 2, MaxTrials: 10, InWindow: 900 * time.Millisecond}
	p.Widths = []perf.Width{{Goal: perf.Goal{Figure: "throughput", Width: 0.02}, Is: 0.031}, {Goal: perf.Goal{Figure: "p99", Width: 0.05}, Is: 0.024}}
	c.frame("waiting for confidence intervals, windows by count", p)
	p = perf.Progress{Batch: 1, Load: perf.Load{Value: 64}, Level: 5, Levels: 5, Trial: 1, Requests: 250, Total: 1000}
	c.frame("a number of requests", p)
	return c.end(t)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestLiveFollowsTheTerminal draws the view again when the terminal gets another size.
func TestLiveFollowsTheTerminal(t *testing.T) {
	v := newLiveView(perf.Started{Settings: sweep(), Progress: func() perf.Progress {
		return perf.Progress{Batch: 1, Load: perf.Load{Value: 4}, Level: 3, Levels: 5, Trial: 1, Requests: 9, Window: time.Second, Timeline: timeline(30)}
	}}, palette(false))
	for width := range 200 {
		for rows := range 12 {
			text := v.render(width, rows)
			lines := strings.Split(text, "\n")
			require.LessOrEqual(t, len(lines), max(rows, 1))
			for _, line := range lines {
				require.LessOrEqual(t, columns(line), width, "%d columns, %d rows: %q", width, rows, line)
			}
		}
	}
}

// TestLiveRowsOfLowTerminals: the rows that matter most stay.
func TestLiveRowsOfLowTerminals(t *testing.T) {
	t.Parallel()
	v := newLiveView(perf.Started{Settings: sweep(), Progress: func() perf.Progress {
		return perf.Progress{Batch: 1, Level: 3, Levels: 5, Trial: 4, Requests: 9, Window: time.Second, SpreadLimit: 0.1, Timeline: timeline(9)}
	}}, palette(false))
	v.observe(perf.WindowDone{Summary: window()})
	titles := func(rows int) (all []string) {
		for _, line := range strings.Split(v.render(100, rows), "\n") {
			all = append(all, strings.Fields(plain(line))[0])
		}
		return all
	}
	require.Equal(t, []string{"level", "window", "spread", "infer/s", "p99", "latency", "server", "client", "GPU"}, titles(10))
	require.Equal(t, []string{"level", "window", "spread", "infer/s", "p99", "server"}, titles(6))
	require.Equal(t, []string{"level", "window", "infer/s"}, titles(3))
	require.Equal(t, []string{"level"}, titles(1))
}

// TestLiveLevelsLeftOut: a batch size ends before its last level, at the latency limit.
func TestLiveLevelsLeftOut(t *testing.T) {
	t.Parallel()
	s := sweep()
	s.Batches, s.Range = []int{1, 4}, perf.Range{List: []float64{1, 2, 3}}
	v := newLiveView(perf.Started{Settings: s, Progress: func() perf.Progress {
		return perf.Progress{Batch: 4, Load: perf.Load{Value: 1}, Level: 3, Levels: 6, Trial: 1}
	}}, palette(false))
	for i, l := range []perf.Level{level(10), level(20)} {
		l.Number, l.Load.Value, l.OverLimit = i+1, float64(i+1), i == 1
		v.observe(perf.LevelDone{Level: &l})
	}
	require.Contains(t, plain(v.render(100, 10)), "level 4/6  concurrency 1  batch 4  1 2! 3 [1] 2 3\n")
}

func TestLiveColors(t *testing.T) {
	t.Parallel()
	p := perf.Progress{Batch: 1, Level: 1, Trial: 4, SpreadLimit: 0.1, Spread: perf.Spread{Throughput: 0.3, Latency: 0.02}}
	start := perf.Started{Settings: sweep(), Progress: func() perf.Progress { return p }}
	colored, without := newLiveView(start, palette(true)), newLiveView(start, palette(false))
	require.Regexp(t, "\x1b\\[33m30\\.0 %\x1b\\[m.*\x1b\\[32m2\\.0 %\x1b\\[m", colored.render(80, 10))
	require.NotRegexp(t, "\x1b\\[3[0-9]m", without.render(80, 10))
	require.Equal(t, plain(colored.render(80, 10)), plain(without.render(80, 10)))
}

func TestLiveServerOfAnEnsemble(t *testing.T) {
	t.Parallel()
	v := newLiveView(perf.Started{Settings: sweep(), Progress: func() perf.Progress { return perf.Progress{Level: 1, Trial: 1} }}, palette(false))
	step := perf.ServerStats{Queue: perf.Statistic{Count: 2, Ns: 4000}, ComputeInfer: perf.Statistic{Count: 2, Ns: 2_000_000}}
	v.observe(perf.WindowDone{Summary: &perf.Summary{Server: &perf.ServerStats{Ensemble: true, Composing: []perf.ServerStats{step, step}}}})
	require.Contains(t, v.render(80, 10), "server   queue 4.00 us  compute 2.00 ms")
}

// TestLiveOnStderr: the view is on another stream than the report, which stays as it is.
func TestLiveOnStderr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		terminal := sharedtest.NewScreen(80, 24)
		s := NewScreen(ScreenOptions{Out: &out, Notes: terminal, Live: terminal, NotesShared: true})
		s.Observe(perf.Started{Settings: sweep(), Progress: func() perf.Progress { return perf.Progress{Level: 1, Trial: 1} }})
		s.Observe(perf.LevelStarted{Batch: 1, Load: perf.Load{Value: 4}})
		s.Observe(perf.Notice{Text: "WARNING: something"})
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, out.String(), "Request concurrency: 4\n")
		require.Contains(t, terminal.String(), "WARNING: something\nlevel 1 ")
		require.NoError(t, s.Close())
		time.Sleep(time.Second)
		require.Equal(t, "WARNING: something", terminal.String())
		require.NotContains(t, out.String(), "\x1b")
	})
}

func palette(color bool) ui.Palette { return ui.Palette{Color: color} }

func plain(text string) string { return ansi.Strip(text) }

func columns(line string) int { return ansi.StringWidth(line) }
