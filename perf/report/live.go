package report

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

// liveView draws the state of a run. Events and drawing may come from different goroutines.
type liveView struct {
	progress func() perf.Progress
	plan     []perf.Setting
	settings perf.Settings
	colors   ui.Palette

	mu struct {
		sync.Mutex
		window  *perf.Summary // of the last window with figures
		failed  error         // of the last window, if it failed
		results map[int]string
	}
}

func newLiveView(e perf.Started, colors ui.Palette) *liveView {
	v := &liveView{progress: e.Progress, settings: e.Settings, colors: colors, plan: e.Settings.Plan()}
	v.mu.results = map[int]string{}
	return v
}

// observe keeps what the view shows of an event.
func (v *liveView) observe(e perf.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := e.(type) {
	case perf.LevelStarted:
		v.mu.window, v.mu.failed = nil, nil
	case perf.WindowDone:
		if v.mu.failed = e.Err; e.Summary != nil {
			v.mu.window = e.Summary
		}
	case perf.LevelDone:
		v.mu.results[e.Level.Number] = e.Level.Problem()
	}
}

// render returns the view for a width and a number of rows. On low terminals it leaves out rows
// that matter less.
func (v *liveView) render(width, rows int) string {
	p := v.progress()
	if p.Level == 0 || p.Trial == 0 && !p.WarmingUp {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return ui.View(rows,
		ui.Part{Text: v.head(width, p)},
		ui.Part{Text: v.windowRow(width, p)},
		ui.Part{Text: v.stability(width, p), Spare: 2},
		ui.Part{Text: v.throughput(width, p), Spare: 1},
		ui.Part{Text: v.p99(width, p), Spare: 4},
		ui.Part{Text: v.latency(width, p), Spare: 8},
		ui.Part{Text: v.server(width), Spare: 5},
		ui.Part{Text: v.client(width, p), Spare: 6},
		ui.Part{Text: v.gpu(width), Spare: 7},
		ui.Part{Text: v.errors(width, p), Spare: 3},
	)
}

// head says which level is measured, which ones follow, and how long that takes.
func (v *liveView) head(width int, p perf.Progress) string {
	number := fmt.Sprintf("level %d", p.Level)
	if p.Levels > 0 {
		number += fmt.Sprintf("/%d", p.Levels)
	}
	batch := ""
	if len(v.settings.Batches) > 1 || p.Batch > 1 {
		batch = ui.Strong(fmt.Sprintf("batch %d", p.Batch))
	}
	left := ""
	switch {
	case p.Left > 0:
		left = "about " + ui.Clock(p.Left) + " left"
	case p.LevelLeft > 0:
		left = "about " + ui.Clock(p.LevelLeft) + " left in this level"
	}
	load := fmt.Sprintf("%s %.6g", strings.ToLower(label(p.Load.Mode)), p.Load.Value)
	return ui.Row(width, ui.Part{Text: ui.Strong(number + "  " + load)}, ui.Part{Text: batch, Spare: 1},
		ui.Part{Text: left, Spare: 2}, ui.Part{Text: v.levels(p), Spare: 3})
}

// neighbors is how many levels the view names before and after the current one.
const neighbors = 4

// levels lists the levels around the current one, which is in brackets. A level that does not
// count has a mark.
func (v *liveView) levels(p perf.Progress) string {
	if len(v.plan) < 2 || p.Level > len(v.plan) {
		return ""
	}
	first, end := max(0, p.Level-1-neighbors), min(len(v.plan), p.Level+neighbors)
	var names []string
	if first > 0 {
		names = append(names, ui.Faint("…"))
	}
	for i := first; i < end; i++ {
		name := fmt.Sprintf("%.6g", v.plan[i].Load.Value)
		switch reason := v.mu.results[i+1]; {
		case i+1 == p.Level:
			name = ui.Strong("[" + name + "]")
		case i+1 > p.Level:
			name = ui.Faint(name)
		case reason != "":
			name = v.colors.Warn(name + "!")
		default:
			name = v.colors.Good(name)
		}
		names = append(names, name)
	}
	if end < len(v.plan) {
		names = append(names, ui.Faint("…"))
	}
	return strings.Join(names, " ")
}

func (v *liveView) windowRow(width int, p perf.Progress) string {
	gauge := func(share float64) string { return ui.Bar(min(1, share), max(5, min(20, width/4))) }
	switch {
	case p.WarmingUp:
		return ui.Row(width, ui.Part{Text: "warming up"}, ui.Part{Text: fmt.Sprintf("%.1f s", p.Elapsed.Seconds())})
	case p.Total > 0:
		return ui.Row(width, ui.Part{Text: fmt.Sprintf("request %d of %d", p.Requests, p.Total)},
			ui.Part{Text: gauge(float64(p.Requests) / float64(p.Total)), Spare: 1})
	}
	number := fmt.Sprintf("window %d", p.Trial)
	if p.MaxTrials > 0 {
		number += fmt.Sprintf(" of at most %d", p.MaxTrials)
	}
	if p.Window == 0 {
		return ui.Row(width, ui.Part{Text: number}, ui.Part{Text: fmt.Sprintf("%.1f s", p.InWindow.Seconds()), Spare: 1})
	}
	return ui.Row(width, ui.Part{Text: number}, ui.Part{Text: gauge(float64(p.InWindow) / float64(p.Window)), Spare: 2},
		ui.Part{Text: fmt.Sprintf("%.1f of %.1f s", p.InWindow.Seconds(), p.Window.Seconds()), Spare: 1})
}

// stability says what the level waits for.
func (v *liveView) stability(width int, p perf.Progress) string {
	parts := func(head string, texts ...string) string {
		all := []ui.Part{{Text: padded(head)}}
		for i, text := range texts {
			all = append(all, ui.Part{Text: text, Spare: i})
		}
		return ui.Row(width, all...)
	}
	percent := func(share, limit float64) string {
		text := fmt.Sprintf("%.1f %%", 100*share)
		if math.IsInf(share, 1) {
			text = "unknown"
		}
		if share > limit {
			return v.colors.Warn(text)
		}
		return v.colors.Good(text)
	}
	switch {
	case p.WarmingUp || p.Total > 0:
		return ""
	case len(p.Widths) > 0:
		var texts []string
		for _, w := range p.Widths {
			texts = append(texts, fmt.Sprintf("%s ±%s (goal %.3g %%)", w.Figure, percent(w.Is, w.Width), 100*w.Width))
		}
		return parts("waiting", texts...)
	case p.SpreadLimit > 0 && p.Trial > 3: // three windows are over
		return parts("spread", "infer/s "+percent(p.Spread.Throughput, p.SpreadLimit),
			"latency "+percent(p.Spread.Latency, p.SpreadLimit), fmt.Sprintf("limit %.3g %%", 100*p.SpreadLimit))
	}
	if p.SpreadLimit == 0 {
		return parts("waiting", "confidence intervals are not known yet")
	}
	return parts("spread", "known after 3 windows")
}

// padded returns the title of a row; titles are equally wide.
func padded(title string) string { return fmt.Sprintf("%-7s", title) }

// chart returns a row with a value, its course and the scale.
func chart(width int, title, value string, values []float64, scale func(top float64) string) string {
	head := fmt.Sprintf("%s  %s  ", padded(title), ui.Strong(fmt.Sprintf("%8s", value)))
	room := width - 19 // without the head
	top := ui.Top(values, room)
	right := "0–" + scale(top)
	if top == 0 {
		right = ""
	}
	room -= len([]rune(right)) + 1
	if room < 5 {
		return ui.Row(width, ui.Part{Text: strings.TrimRight(head, " ")})
	}
	line := ui.SparklineTo(values, room, top)
	return head + line + strings.Repeat(" ", room-len([]rune(line))) + " " + ui.Faint(right)
}

func (v *liveView) throughput(width int, p perf.Progress) string {
	rate := "-"
	if p.Elapsed > 0 && p.Requests > 0 {
		rate = ui.Number(float64(p.Requests) * float64(max(p.Batch, 1)) / p.Elapsed.Seconds())
	}
	values := make([]float64, len(p.Timeline))
	for i, t := range p.Timeline {
		values[i] = t.Throughput
	}
	return chart(width, "infer/s", rate, values, func(top float64) string { return fmt.Sprintf("%.6g", top) })
}

func (v *liveView) p99(width int, p perf.Progress) string {
	values := make([]float64, len(p.Timeline))
	for i, t := range p.Timeline {
		values[i] = float64(t.P99)
		if t.Requests == 0 {
			values[i] = math.NaN()
		}
	}
	p99 := "-"
	if p.Requests > 0 {
		p99 = ui.Duration(p.P99)
	}
	return chart(width, "p99", p99, values, scaleTime)
}

// scaleTime formats the end of a scale, which has few digits, in nanoseconds.
func scaleTime(top float64) string {
	switch {
	case top < 1e6:
		return fmt.Sprintf("%g us", top/1e3)
	case top < 1e9:
		return fmt.Sprintf("%g ms", top/1e6)
	}
	return fmt.Sprintf("%g s", top/1e9)
}

func (v *liveView) latency(width int, p perf.Progress) string {
	if p.Requests == 0 {
		return ""
	}
	return ui.Row(width, ui.Part{Text: padded("latency")}, ui.Part{Text: "p50 " + ui.Duration(p.P50)},
		ui.Part{Text: "p90 " + ui.Duration(p.P90), Spare: 1}, ui.Part{Text: "p95 " + ui.Duration(p.P95), Spare: 2},
		ui.Part{Text: "p99 " + ui.Duration(p.P99)})
}

// server splits the time on the server, of the last window.
func (v *liveView) server(width int) string {
	if !v.settings.ServerStats {
		return ""
	}
	if v.mu.window == nil || v.mu.window.Server == nil {
		return ui.Row(width, ui.Part{Text: padded("server")}, ui.Part{Text: "known after the first window"})
	}
	s := v.mu.window.Server
	m := serverTimes(s)
	parts := []ui.Part{{Text: padded("server")}, {Text: "queue " + ui.Duration(m.queue)}}
	if s.Ensemble {
		parts = append(parts, ui.Part{Text: "compute " + ui.Duration(m.input+m.infer+m.output)})
	} else {
		parts = append(parts, ui.Part{Text: "input " + ui.Duration(m.input), Spare: 2}, ui.Part{Text: "infer " + ui.Duration(m.infer)},
			ui.Part{Text: "output " + ui.Duration(m.output), Spare: 2})
	}
	if s.Executions > 0 {
		parts = append(parts, ui.Part{Text: fmt.Sprintf("batch executed %.1f", float64(s.Inferences)/float64(s.Executions)), Spare: 3})
	}
	return ui.Row(width, parts...)
}

// client says how busy the client was and whether it kept its schedule.
func (v *liveView) client(width int, p perf.Progress) string {
	parts := []ui.Part{{Text: padded("client")}}
	if c := p.Process; c != nil {
		text := fmt.Sprintf("CPU %.0f %% of %s", 100*c.Busy(), ui.Plural(int(math.Round(c.Cores)), "core"))
		if c.Busy() > busyClient {
			text = v.colors.Warn(text)
		}
		parts = append(parts, ui.Part{Text: text})
		if c.Probes > 0 {
			parts = append(parts, ui.Part{Text: "delay p99 " + ui.Duration(c.DelayP99), Spare: 2})
		}
	}
	if w := v.mu.window; w != nil && w.Schedule != nil && w.Requests > 0 {
		parts = append(parts, ui.Part{Text: fmt.Sprintf("late %.1f %%", 100*float64(w.Schedule.Delayed)/float64(w.Requests)), Spare: 1})
	}
	return ui.Row(width, append(parts, ui.Part{Text: fmt.Sprintf("errors %d", p.Errors)})...)
}

// busyClient is the share of its processors above which the view warns of the client.
const busyClient = 0.8

// gpu sums up the GPUs of the last window.
func (v *liveView) gpu(width int) string {
	if v.mu.window == nil || v.mu.window.GPU == nil {
		return ""
	}
	g := v.mu.window.GPU
	sum := func(values map[string]float64) (total float64) {
		for _, x := range values {
			total += x
		}
		return total
	}
	n := max(len(g.Utilization), len(g.Power), len(g.MemoryUsed))
	if n == 0 {
		return ""
	}
	parts := []ui.Part{{Text: padded("GPU")}}
	if n > 1 {
		parts = append(parts, ui.Part{Text: ui.Plural(n, "GPU"), Spare: 1})
	}
	if k := len(g.Utilization); k > 0 {
		parts = append(parts, ui.Part{Text: fmt.Sprintf("busy %.0f %%", 100*sum(g.Utilization)/float64(k))})
	}
	if len(g.Power) > 0 {
		parts = append(parts, ui.Part{Text: fmt.Sprintf("%.0f W", sum(g.Power)), Spare: 2})
	}
	if len(g.MemoryUsed) > 0 {
		parts = append(parts, ui.Part{Text: ui.Bytes(sum(g.MemoryUsed)) + " of " + ui.Bytes(sum(g.MemoryTotal)), Spare: 1})
	}
	return ui.Row(width, parts...)
}

// errors names the reason why the last window has no figures, or says that requests failed.
func (v *liveView) errors(width int, p perf.Progress) string {
	text := ""
	switch {
	case v.mu.failed != nil:
		text = "window failed: " + v.mu.failed.Error()
	case p.Errors > 0:
		text = ui.Plural(int(p.Errors), "request") + " failed in this level"
	default:
		return ""
	}
	return v.colors.Bad(ui.Row(width, ui.Part{Text: padded("error")}, ui.Part{Text: text}))
}

// serverSplit is the mean time of a request on the server.
type serverSplit struct{ queue, input, infer, output time.Duration }

// serverTimes splits the time of a model, or of the composing models of an ensemble.
func serverTimes(s *perf.ServerStats) serverSplit {
	if s.Ensemble {
		var sum serverSplit
		for i := range s.Composing {
			m := serverTimes(&s.Composing[i])
			sum.queue, sum.input = sum.queue+m.queue, sum.input+m.input
			sum.infer, sum.output = sum.infer+m.infer, sum.output+m.output
		}
		return sum
	}
	mean := func(d perf.Duration) time.Duration { return time.Duration(d.Ns / max(d.Count, 1)) }
	return serverSplit{mean(s.Queue), mean(s.ComputeInput), mean(s.ComputeInfer), mean(s.ComputeOutput)}
}
