package ondemand

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triton/pkg/status"
)

// cannotFit returns the error of a load for which there will never be memory.
func (m *Manager) cannotFit(p *place, all []Model) error {
	m.counts.TooLarge++
	text := fmt.Sprintf("model '%s' needs %s, and the memory budget is %s (--memory-budget)", p.name, Text(p.need), Text(m.opts.Budget))
	if held := m.holders(p, all, func(l *Model) bool { return l.Lasting || m.pinned(l, all) }); held != "" {
		text += "; in use for good: " + held
	}
	return status.New(status.Unavailable, "%s", text)
}

// waitsFor describes what a load waits for.
func (m *Manager) waitsFor(p *place, all []Model) string {
	held := m.holders(p, all, func(*Model) bool { return true })
	if held == "" {
		held = "loads under way"
	}
	return fmt.Sprintf("it needs %s, the memory budget is %s (--memory-budget), in use: %s", Text(p.need), Text(m.opts.Budget), held)
}

// maxHolders bounds the models in the text of an error.
const maxHolders = 8

// holders lists the models that hold memory which a load needs.
func (m *Manager) holders(p *place, all []Model, which func(*Model) bool) string {
	var texts []string
	for i := range all {
		l := &all[i]
		if !which(l) || !l.Bytes.overlaps(p.need) {
			continue
		}
		state := "idle"
		switch {
		case m.pinned(l, all):
			state = "pinned"
		case l.Lasting:
			state = "its files came with the load"
		case l.Busy:
			state = "works"
		case m.kept(l, all, p):
			state = "in use by an ensemble or a load"
		}
		texts = append(texts, fmt.Sprintf("%s (%s, %s)", l.Name, Text(l.Bytes), state))
	}
	if more := len(texts) - maxHolders; more > 0 {
		texts = append(texts[:maxHolders], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// Text writes bytes for people: "20.0 MiB", with the device unless it is the host.
func Text(b Bytes) string {
	var parts []string
	for _, d := range slices.Sorted(maps.Keys(b)) {
		text := fmt.Sprintf("%.1f MiB", float64(b[d])/(1<<20))
		if d != Host {
			text += " of " + string(d)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "no memory"
	}
	return strings.Join(parts, " and ")
}
