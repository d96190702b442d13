package report

import (
	"fmt"
	"strings"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

// liveView draws the current level.
type liveView struct {
	progress     func() perf.Progress
	rates        []float64 // requests per second between two samples
	batch        int
	load         perf.Load
	lastRequests uint64
	lastElapsed  time.Duration
}

func newLiveView(progress func() perf.Progress) *liveView { return &liveView{progress: progress} }

const historyLength = 240

func (v *liveView) render(width int) string {
	p := v.progress()
	if p.Trial == 0 {
		return ""
	}
	v.addRate(p)
	rate := 0.0
	if p.Elapsed > 0 {
		rate = float64(p.Requests) * float64(max(p.Batch, 1)) / p.Elapsed.Seconds()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", ui.Strong(fmt.Sprintf("%s %.6g  batch %d", strings.ToLower(label(p.Load.Mode)), p.Load.Value, p.Batch)), v.window(p))
	fmt.Fprintf(&b, "%s infer/sec  p50 %s  p90 %s  p95 %s  p99 %s\n", ui.Strong(fmt.Sprintf("%.1f", rate)),
		micros(p.P50), micros(p.P90), micros(p.P95), micros(p.P99))
	b.WriteString(ui.Sparkline(v.rates, min(max(width-1, 10), historyLength)))
	return b.String()
}

// addRate adds the rate since the last sample.
func (v *liveView) addRate(p perf.Progress) {
	if p.Batch != v.batch || p.Load != v.load || p.Elapsed < v.lastElapsed {
		v.batch, v.load, v.lastRequests, v.lastElapsed = p.Batch, p.Load, 0, 0
	}
	if dt := p.Elapsed - v.lastElapsed; dt >= 100*time.Millisecond {
		v.rates = append(v.rates, float64(p.Requests-v.lastRequests)/dt.Seconds())
		v.rates = v.rates[max(0, len(v.rates)-historyLength):]
		v.lastRequests, v.lastElapsed = p.Requests, p.Elapsed
	}
}

func (v *liveView) window(p perf.Progress) string {
	s := fmt.Sprintf("window %d", p.Trial)
	if p.Window > 0 {
		share := min(1, float64(p.InWindow)/float64(p.Window))
		s += fmt.Sprintf("  %s %.1f/%.1f s", ui.Bar(share, 20), p.InWindow.Seconds(), p.Window.Seconds())
	} else {
		s += fmt.Sprintf("  %.1f s", p.InWindow.Seconds())
	}
	return ui.Faint(s)
}

// micros formats a latency for people: microseconds below ten milliseconds.
func micros(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%d us", d.Microseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
