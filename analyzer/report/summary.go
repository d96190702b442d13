// The summary report of a model: which of its variants to serve, how it compares with the default,
// and how the best ones compare.

package report

import (
	"fmt"
	"strings"

	"triton/analyzer/report/page"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// summaryOptions configure a summary.
type summaryOptions struct {
	Mode  string // settings.Online or settings.Offline
	Top   int    // number of best variants
	Plots []settings.Plot
	// ObjectivesSet: the user has set what to optimize.
	ObjectivesSet bool
}

// summary is a summary report with the files of its plots.
type summary struct {
	Page     *page.Page // nil without measurements and failed trials
	Plots    []namedChart
	Warnings []string
}

// summaryBuilder has what the parts of a summary share.
type summaryBuilder struct {
	o    *outcome
	m    *modelOutcome
	opts summaryOptions
	best []variantOutcome
	gpu  bool
}

// newSummary returns the summary of a model.
func newSummary(o *outcome, m *modelOutcome, opts summaryOptions) *summary {
	s := &summary{}
	title := map[bool]string{true: "Offline", false: "Online"}[opts.Mode == settings.Offline] + " Result Summary"
	s.Page = &page.Page{Title: title, Subtitle: "Model: " + strings.Join(strings.Split(m.Name, ","), " and "), Program: o.Report.Tool}
	if len(m.Variants) == 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("No data found for model %s, skipping export summary.", m.Name))
		if len(m.Failed) == 0 {
			s.Page = nil
			return s
		}
		s.Page.Blocks = append([]page.Block{page.Paragraph(page.Plain("No trial has a measurement."))}, searchBlocks(o, m)...)
		return s
	}
	var best []variantOutcome // with the default configuration
	best, s.Warnings = m.Top(opts.Top)
	if m.Name == acrossName { // there is no single default configuration
		best = best[:min(len(best), opts.Top)]
	}
	b := summaryBuilder{o, m, opts, best, o.GPU(best)}
	count := min(opts.Top, len(m.Variants))
	s.Plots = summaryCharts(o, m, best, count, opts.Plots)
	s.Page.Blocks = append(s.Page.Blocks, b.facts()...)
	s.Page.Blocks = append(s.Page.Blocks, b.verdict()...)
	if len(s.Plots) > 0 {
		s.Page.Blocks = append(s.Page.Blocks, page.ChartText(fmt.Sprintf(
			"Curves corresponding to the %d best model configuration(s) out of a total of %d are shown in the plots.", count, len(m.Variants))))
		s.Page.Blocks = append(s.Page.Blocks, figuresOf(s.Plots))
	}
	s.Page.Blocks = append(s.Page.Blocks, b.table(), page.Paragraph(page.Plain(ownNote)))
	s.Page.Blocks = append(s.Page.Blocks, b.pareto()...)
	s.Page.Blocks = append(s.Page.Blocks, searchBlocks(o, m)...)
	return s
}

func (b summaryBuilder) facts() []page.Block {
	var all []page.Block
	if b.gpu {
		names, memory := b.o.Devices(b.best)
		all = append(all, page.Paragraph(page.Plain("GPU(s): "+names)), page.Paragraph(page.Plain("Total Available GPU Memory: "+memory)))
	}
	constraints := b.m.Constraints()
	switch len(constraints) {
	case 0:
		all = append(all, page.Paragraph(page.Plain("Constraint targets: None")))
	case 1:
		all = append(all, page.Paragraph(page.Plain("Constraint targets: "+constraints[0])))
	default:
		list := page.List{}
		for _, c := range constraints {
			list = append(list, page.Plain(c))
		}
		all = append(all, page.Paragraph(page.Plain("Constraint targets:")), list)
	}
	return all
}

// verdict says which variant to serve and by how much it is better than the default, and what it is.
func (b summaryBuilder) verdict() []page.Block {
	v := b.m.Verdict()
	purpose := "maximizing throughput"
	if b.opts.ObjectivesSet {
		purpose = "meeting the objectives"
	}
	pieces := prepend(b.m.measuredText(), b.m.headline(v, purpose))
	pieces[len(pieces)-1] += ", under the given constraints"
	if b.gpu {
		names, _ := b.o.Devices(b.best)
		pieces[len(pieces)-1] += ", on GPU(s) " + names
	}
	pieces[len(pieces)-1] += "."
	all := []page.Block{page.Paragraph(page.Mixed(pieces...))}
	if note := v.noiseNote(); note != "" {
		all = append(all, page.Paragraph(page.Plain(note)))
	}
	if !v.Serve.Passing {
		all = append(all, page.Paragraph(page.Plain("No measurement satisfies the constraints.")))
	} else if _, ok := b.m.Default(); !ok && b.m.Name != acrossName {
		all = append(all, page.Paragraph(page.Plain("No measurement of the default configuration satisfies the constraints, so there is none to compare with.")))
	}
	return append(append(all, b.m.figures(v)), b.recommendation(v.Serve.Best.Config)...)
}

// recommendation describes the variant to serve, and its composing models.
func (b summaryBuilder) recommendation(c trial.Config) []page.Block {
	var members page.List
	for _, m := range c.Members {
		members = append(members, variantCell(b.o, m.Variant))
	}
	if len(c.Members) != 1 || len(c.Members[0].Composing) == 0 {
		return []page.Block{members}
	}
	var composing page.List
	for _, v := range c.Members[0].Composing {
		composing = append(composing, variantCell(b.o, v))
	}
	intro := page.Paragraph(page.Mixed("", c.Members[0].Name, " is comprised of the following composing models:"))
	if !b.m.BLS() {
		return []page.Block{intro, composing}
	}
	return []page.Block{members, intro, composing}
}

// pareto lists the measurements that no other beats in both throughput and latency.
func (b summaryBuilder) pareto() []page.Block {
	front := b.m.Pareto()
	if len(front) < 2 {
		return nil
	}
	t := page.Table{
		Caption: "Measurements under the constraints that no other beats in both throughput and p99 latency:",
		Columns: []page.Column{{Title: "Model Config Name"}, {Title: "Load"}, {Title: headerOf(trial.LatencyP99), Number: true}, {Title: headerOf(trial.Throughput), Number: true}},
	}
	for _, r := range front {
		t.Rows = append(t.Rows, []page.Text{
			page.Plain(strings.Join(r.Config.AllVariants(), ", ")), page.Plain(loadOf(r.Config)), valueCell(r, trial.LatencyP99), valueCell(r, trial.Throughput),
		})
	}
	return []page.Block{page.Heading("Pareto front"), t}
}
