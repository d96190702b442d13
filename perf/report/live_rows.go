package report

import (
	"fmt"
	"math"
	"strings"

	"triton/perf"
	"triton/pkg/ui"
)

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
