package analyze

import (
	"fmt"
	"time"

	"triton/analyzer/memory/footprint"
	"triton/pkg/ui"
)

const viewInterval = 250 * time.Millisecond

// render draws the view.
func (p *progress) render(width, rows int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.mu.state
	part := func(text string) ui.Part { return ui.Part{Text: ui.Row(width, ui.Part{Text: text})} }
	head := fmt.Sprintf("%s  %s, %d of %s, %s", s.model, ui.Plural(s.servers, "server"), s.settings, ui.Plural(s.total, "setting"), ui.Clock(time.Since(s.started)))
	if !s.ends.IsZero() {
		head += ", no new server after " + ui.Clock(max(0, time.Until(s.ends)))
	}
	parts := []ui.Part{part(head), part(fmt.Sprintf("now   %s, for %s", s.running, ui.Clock(time.Since(s.since))))}
	for _, l := range s.limits {
		parts = append(parts, part(describeLimit(l)))
	}
	if s.last != "" {
		parts = append(parts, part(s.last+"  "+ui.Sparkline(s.throughput, max(1, width-len(s.last)-2))))
	}
	return ui.View(rows, parts...)
}

// describeLimit says what the readings of a place show so far.
func describeLimit(l footprint.Limit) string {
	text := string(l.Place) + "  "
	if l.Law == nil {
		return text + "what an instance takes is known after three counts and a repeat"
	}
	each := l.Law.PerInstance
	text += fmt.Sprintf("an instance takes %.1f MiB (%.1f to %.1f)", mib(each.Value), mib(each.Low), mib(each.High))
	if !l.Costs {
		return text + ", not more than the noise"
	}
	return text + fmt.Sprintf(" of %.0f MiB", mib(l.Bytes()))
}
