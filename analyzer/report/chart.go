// The charts show metrics against one another, and where the time of a request goes.

package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"triton/analyzer/report/page"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// linesChart draws two metrics of variants, one line for each. The limits are those of the goals whose
// constraints are on one of the axes. It returns nil if no measurement has both metrics.
func linesChart(p settings.Plot, variants []variantOutcome, goals ...trial.Goal) *page.Lines {
	l := &page.Lines{Title: p.Title, X: headerOf(p.XAxis), Y: headerOf(p.YAxis)}
	for _, v := range variants {
		s := page.Series{Name: v.Name}
		for _, r := range v.Results {
			if point, ok := pointOf(p, v.Name, r); ok {
				s.Points = append(s.Points, point)
			}
		}
		if p.Monotonic {
			s.Points = page.Monotonic(s.Points)
		} else {
			s.Points = page.Sorted(s.Points)
		}
		if len(s.Points) > 0 {
			l.Series = append(l.Series, s)
		}
	}
	if len(l.Series) == 0 {
		return nil
	}
	for _, g := range goals {
		for _, limit := range limitsOf(g) {
			l.Targets = append(l.Targets, targets(p, limit)...)
		}
	}
	return l
}

func pointOf(p settings.Plot, name string, r trial.Result) (page.Point, bool) {
	x, hasX := valueOf(r, p.XAxis)
	y, hasY := valueOf(r, p.YAxis)
	if !hasX || !hasY {
		return page.Point{}, false
	}
	point := page.Point{X: x, Y: y, Note: fmt.Sprintf("%s, %s: %s %s, %s %s", name, loadOf(r.Config),
		headerOf(p.XAxis), page.Number(x), headerOf(p.YAxis), page.Number(y))}
	// Intervals are those of the first member, so they say nothing of a combined value.
	if len(r.Measurement.Members) == 1 {
		if i, ok := r.Measurement.Confidence[p.YAxis]; ok {
			point.Low, point.High = i.Low, i.High
		}
	}
	return point, true
}

// targets returns a limit as lines on the axes that it is on.
func targets(p settings.Plot, l limit) []page.Target {
	var all []page.Target
	for _, axis := range []struct {
		tag      trial.Metric
		vertical bool
	}{{p.XAxis, true}, {p.YAxis, false}} {
		if spec, err := trial.FindMetric(axis.tag); err == nil && spec.Tag == l.Tag {
			all = append(all, page.Target{Name: "Target " + l.Name, Value: l.Value, Vertical: axis.vertical})
		}
	}
	return all
}

// latencyParts are the metrics that a breakdown stacks.
var latencyParts = []trial.Metric{trial.ServerQueue, trial.ServerInput, trial.ServerInfer, trial.ServerOutput}

// breakdownChart draws where the time of requests goes, by load. It returns nil without results.
func breakdownChart(results []trial.Result) *page.Bars {
	b := &page.Bars{
		Title: "Online Performance", X: "Concurrent Client Requests",
		Y: headerOf(trial.LatencyAvg), Y2: headerOf(trial.Throughput), LineName: "Inferences/second",
	}
	for _, tag := range latencyParts {
		b.Parts = append(b.Parts, headerOf(tag))
	}
	sorted := slices.Clone(results)
	sort.SliceStable(sorted, func(i, j int) bool {
		return compareLoads(sorted[i].Config.Members[0].Load, sorted[j].Config.Members[0].Load) < 0
	})
	for _, r := range sorted {
		var labels []string
		for _, m := range r.Config.Members {
			labels = append(labels, loadLabel(m.Load, b))
		}
		bar := page.Bar{Label: strings.Join(labels, ",")}
		for _, tag := range latencyParts {
			v, _ := valueOf(r, tag)
			bar.Parts = append(bar.Parts, v)
		}
		bar.Line, _ = valueOf(r, trial.Throughput)
		b.Bars = append(b.Bars, bar)
	}
	if len(b.Bars) == 0 {
		return nil
	}
	return b
}

func compareLoads(x, y trial.Load) int {
	for _, d := range []int{x.RequestRate - y.RequestRate, x.Concurrency - y.Concurrency, strings.Compare(x.Intervals, y.Intervals), x.Batch - y.Batch} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// loadLabel returns the load of a bar, and names the axis after its kind.
func loadLabel(l trial.Load, b *page.Bars) string {
	batch := ""
	if l.Batch > 1 {
		batch = fmt.Sprintf(" (batch %d)", l.Batch)
	}
	switch {
	case l.Intervals != "":
		b.X = "Request Intervals File"
		return l.Intervals + batch
	case l.RequestRate > 0:
		b.X = "Client Request Rate"
		return strconv.Itoa(l.RequestRate) + batch
	}
	return strconv.Itoa(l.Concurrency) + batch
}
