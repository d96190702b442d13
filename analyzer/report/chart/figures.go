package chart

import (
	"fmt"
	"slices"
	"strings"

	"triton/analyzer/metric"
	"triton/analyzer/report/outcome"
	"triton/analyzer/report/page"
	"triton/analyzer/settings"
)

// Named is a figure with the name of its file, without an extension.
type Named struct {
	Name string
	page.Figure
}

// Figures returns the figures of a report.
func Figures(named []Named) page.Charts {
	var all page.Charts
	for _, n := range named {
		all = append(all, n.Figure)
	}
	return all
}

// Summary draws the plots of a summary: the best variants of a model and its default configuration.
// Count is the number of best variants that captions tell.
func Summary(o *outcome.Outcome, m *outcome.Model, best []outcome.Variant, count int, plots []settings.Plot) []Named {
	var goals []metric.Goal
	for _, member := range m.Members {
		goals = append(goals, member.Goal)
	}
	gpu := o.GPU(best)
	var all []Named
	for _, p := range plots {
		if !gpu && p.YAxis == metric.GPUUsedMemory {
			p = settings.CPUMemoryPlot()
		}
		if !gpu && onGPU(p) || slices.ContainsFunc(all, func(n Named) bool { return n.Name == p.Name }) {
			continue
		}
		if l := Lines(p, best, goals...); l != nil {
			all = append(all, Named{p.Name, page.Figure{Chart: l, Caption: fmt.Sprintf("%s curves for %d best configurations.", p.Title, count)}})
		}
	}
	return all
}

// Detail draws the plots of one variant. Those without data are left out.
func Detail(o *outcome.Outcome, v outcome.Variant, plots []settings.Plot) []Named {
	variants := []outcome.Variant{v}
	gpu := o.GPU(variants)
	var all []Named
	for _, p := range plots {
		if !gpu && onGPU(p) {
			continue
		}
		if l := Lines(p, variants); l != nil {
			all = append(all, Named{p.Name, page.Figure{Chart: l, Caption: fmt.Sprintf("%s curves for config %s", p.Title, v.Name)}})
		}
	}
	return all
}

func onGPU(p settings.Plot) bool {
	return strings.HasPrefix(string(p.XAxis), "gpu_") || strings.HasPrefix(string(p.YAxis), "gpu_")
}
