package trace

import "strings"

// activity records a timestamp of the backend. In OpenTelemetry "<X>_START" opens the span X and
// "<X>_END" closes the span that was opened last; other names are events of the open span.
func (t *Trace) activity(name string, at int64) {
	if t.request.sampler.level&timestamps == 0 {
		return
	}
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	t.activities = append(t.activities, event{name: name, at: at})
}

// activitySpans returns the backend's spans inside the model's span, and its events outside of
// them. A span that the backend did not close ends with the request.
func (t *Trace) activitySpans() (inside []span, outside []event) {
	var open []int
	for _, e := range inOrder(t.activities) {
		if name, ok := strings.CutSuffix(e.name, "_START"); ok && name != "" {
			parent := t.span
			if len(open) > 0 {
				parent = inside[open[len(open)-1]].self
			}
			open = append(open, len(inside))
			inside = append(inside, span{name: name, parent: parent, self: newSpanContext(parent), begin: e.at, end: t.end})
		}
		if len(open) == 0 {
			outside = append(outside, e)
			continue
		}
		p := &inside[open[len(open)-1]]
		p.events = append(p.events, e)
		if name, ok := strings.CutSuffix(e.name, "_END"); ok && name != "" {
			p.end = e.at
			open = open[:len(open)-1]
		}
	}
	return inside, outside
}
