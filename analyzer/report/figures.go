package report

import (
	"fmt"
	"slices"
	"strings"

	"triton/analyzer/report/page"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// namedChart is a figure with the name of its file, without an extension.
type namedChart struct {
	Name string
	page.Figure
}

// figuresOf returns the figures of a report.
func figuresOf(named []namedChart) page.Charts {
	var all page.Charts
	for _, n := range named {
		all = append(all, n.Figure)
	}
	return all
}

// summaryCharts draws the plots of a summary: the best variants of a model and its default configuration.
// Count is the number of best variants that captions tell.
func summaryCharts(o *outcome, m *modelOutcome, best []variantOutcome, count int, plots []settings.Plot) []namedChart {
	gpu := o.GPU(best)
	var all []namedChart
	for _, p := range plots {
		if !gpu && p.YAxis == trial.GPUUsedMemory {
			p = settings.CPUMemoryPlot()
		}
		if !gpu && onGPU(p) || slices.ContainsFunc(all, func(n namedChart) bool { return n.Name == p.Name }) {
			continue
		}
		if l := linesChart(p, best, m.Goals()...); l != nil {
			all = append(all, namedChart{p.Name, page.Figure{Chart: l, Caption: fmt.Sprintf("%s curves for %d best configurations.", p.Title, count)}})
		}
	}
	return all
}

// detailCharts draws the plots of one variant. Those without data are left out.
func detailCharts(o *outcome, v variantOutcome, plots []settings.Plot) []namedChart {
	variants := []variantOutcome{v}
	gpu := o.GPU(variants)
	var all []namedChart
	for _, p := range plots {
		if !gpu && onGPU(p) {
			continue
		}
		if l := linesChart(p, variants); l != nil {
			all = append(all, namedChart{p.Name, page.Figure{Chart: l, Caption: fmt.Sprintf("%s curves for config %s", p.Title, v.Name)}})
		}
	}
	return all
}

func onGPU(p settings.Plot) bool {
	return strings.HasPrefix(string(p.XAxis), "gpu_") || strings.HasPrefix(string(p.YAxis), "gpu_")
}
