package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

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
		window  *perf.Summary           // of the last window with figures
		failed  error                   // of the last window, if it failed
		results map[perf.Setting]string // problems of the levels that are over
	}
}

func newLiveView(e perf.Started, colors ui.Palette) *liveView {
	v := &liveView{progress: e.Progress, settings: e.Settings, colors: colors, plan: e.Settings.Plan()}
	v.mu.results = map[perf.Setting]string{}
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
		v.mu.results[perf.Setting{Batch: e.Level.Batch, Load: e.Level.Load, Repeat: e.Level.Repeat}] = e.Level.Problem()
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
	at := slices.Index(v.plan, perf.Setting{Batch: p.Batch, Load: p.Load, Repeat: p.Repeat})
	number := fmt.Sprintf("level %d", p.Level)
	if at >= 0 { // a batch size may have ended before its last level
		number = fmt.Sprintf("level %d/%d", at+1, len(v.plan))
	}
	batch := ""
	if len(v.settings.Batches) > 1 || p.Batch > 1 {
		batch = ui.Strong(fmt.Sprintf("batch %d", p.Batch))
	}
	repeat := ""
	if p.Repeat > 0 {
		repeat = fmt.Sprintf("repeat %d/%d", p.Repeat, v.settings.Repeats)
	}
	left := ""
	switch {
	case p.Left > 0:
		left = "about " + ui.Clock(p.Left) + " left"
	case p.LevelLeft > 0:
		left = "about " + ui.Clock(p.LevelLeft) + " left in this level"
	}
	load := fmt.Sprintf("%s %.6g", strings.ToLower(label(p.Load.Mode)), p.Load.Value)
	return ui.Row(width, ui.Part{Text: ui.Strong(number + "  " + load)}, ui.Part{Text: batch, Spare: 1}, ui.Part{Text: repeat, Spare: 1},
		ui.Part{Text: left, Spare: 2}, ui.Part{Text: v.levels(at), Spare: 3})
}

// neighbors is how many levels the view names before and after the current one.
const neighbors = 4

// levels lists the levels around the current one, which is in brackets. A level that does not
// count has a mark.
func (v *liveView) levels(at int) string {
	if len(v.plan) < 2 || at < 0 {
		return ""
	}
	first, end := max(0, at-neighbors), min(len(v.plan), at+1+neighbors)
	var names []string
	if first > 0 {
		names = append(names, ui.Faint("…"))
	}
	for i := first; i < end; i++ {
		name := fmt.Sprintf("%.6g", v.plan[i].Load.Value)
		switch reason, over := v.mu.results[v.plan[i]]; {
		case i == at:
			name = ui.Strong("[" + name + "]")
		case !over: // to come, or left out
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
