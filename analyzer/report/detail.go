// The detailed report of one variant: all its measurements, and where the time of
// requests goes.

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

// detail is a detailed report with the files of its plots.
type detail struct {
	Page      *page.Page
	Plots     []namedChart
	Breakdown *namedChart // nil in offline mode
}

// newDetail returns the detailed report of a variant of a model.
func newDetail(o *outcome, m *modelOutcome, v variantOutcome, mode string, plots []settings.Plot) *detail {
	d := &detail{Plots: detailCharts(o, v, plots)}
	d.Page = &page.Page{Title: "Detailed Report", Subtitle: "Model Config: " + strings.ReplaceAll(v.Name, ",", ", "), Program: o.Report.Tool}
	add := func(b ...page.Block) { d.Page.Blocks = append(d.Page.Blocks, b...) }
	if mode != settings.Offline {
		if bars := breakdownChart(v.Results); bars != nil {
			d.Breakdown = &namedChart{Name: "latency_breakdown", Figure: page.Figure{Chart: bars, Caption: "Latency Breakdown for Online Performance of " + v.Name}}
			add(page.Charts{d.Breakdown.Figure})
		}
	}
	if len(d.Plots) > 0 {
		add(figuresOf(d.Plots))
	}
	add(measurementTable(o, m, v, mode))
	add(page.Paragraph(page.Plain(ownNote)))
	add(describeVariant(o, m, v)...)
	return d
}

// detailColumn is a column of the table with its cells.
type detailColumn struct {
	page.Column
	text func(r trial.Result) page.Text
}

func measurementTable(o *outcome, m *modelOutcome, v variantOutcome, mode string) page.Table {
	sortBy, order := trial.LatencyP99, "p99 latency"
	if mode == settings.Offline {
		sortBy, order = trial.Throughput, "throughput"
	}
	columns := detailColumns(o, m, v, mode)
	t := page.Table{Caption: fmt.Sprintf("All measurements of this model config in decreasing order of %s:", order)}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	results := slices.Clone(v.Results)
	sort.SliceStable(results, func(i, j int) bool {
		x, _ := valueOf(results[i], sortBy)
		y, _ := valueOf(results[j], sortBy)
		return x > y
	})
	for _, r := range results {
		row := make([]page.Text, len(columns))
		for i, c := range columns {
			row[i] = c.text(r)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func detailColumns(o *outcome, m *modelOutcome, v variantOutcome, mode string) []detailColumn {
	value := func(title string, tag trial.Metric) detailColumn {
		return detailColumn{page.Column{Title: title, Number: true}, func(r trial.Result) page.Text { return valueCell(r, tag) }}
	}
	all := []detailColumn{
		loadColumn(o, v, mode),
		value("p99 Latency (ms)", trial.LatencyP99),
		value("Client Response Wait (ms)", trial.ClientWait),
		value("Server Queue (ms)", trial.ServerQueue),
		value("Server Compute Input (ms)", trial.ServerInput),
		value("Server Compute Infer (ms)", trial.ServerInfer),
		value("Throughput (infer/sec)", trial.Throughput),
	}
	if hasMetric(v.Results, trial.CPUUsedRAM) {
		all = append(all, value("Max CPU Memory Usage (MB)", trial.CPUUsedRAM))
	}
	if o.GPU([]variantOutcome{v}) {
		utilization := func(r trial.Result) page.Text { return deviceCell(r, trial.GPUUtilization) }
		all = append(all, value("Max GPU Memory Usage (MB)", trial.GPUUsedMemory),
			detailColumn{page.Column{Title: "Average GPU Utilization (%)", Number: true}, utilization})
	}
	return append(all, ownColumns(m, v, mode)...)
}

// loadColumn is the first column: what the clients did.
func loadColumn(o *outcome, v variantOutcome, mode string) detailColumn {
	title, of := "Request Concurrency", func(l trial.Load) string { return strconv.Itoa(l.Concurrency) }
	switch first := v.Results[0].Config.Members[0].Load; {
	case mode == settings.Offline:
		title, of = "Client Batch Size", func(l trial.Load) string { return strconv.Itoa(l.Batch) }
	case first.RequestRate > 0 || o.Report.RequestRate:
		title, of = "Request Rate", func(l trial.Load) string { return strconv.Itoa(l.RequestRate) }
	case first.Intervals != "":
		title, of = "Request Intervals File", func(l trial.Load) string { return l.Intervals }
	}
	return detailColumn{page.Column{Title: title, Number: true}, ofMembers(of)}
}

// ofMembers formats the loads of the members.
func ofMembers(of func(trial.Load) string) func(trial.Result) page.Text {
	return func(r trial.Result) page.Text {
		var all []string
		for _, m := range r.Config.Members {
			all = append(all, of(m.Load))
		}
		if len(all) == 1 {
			return page.Plain(all[0])
		}
		return page.Plain("(" + strings.Join(all, ", ") + ")")
	}
}

// ownColumns returns the columns that Model Analyzer does not have.
func ownColumns(m *modelOutcome, v variantOutcome, mode string) []detailColumn {
	var all []detailColumn
	add := func(title string, number bool, text func(r trial.Result) string) {
		if slices.ContainsFunc(v.Results, func(r trial.Result) bool { return text(r) != "" }) {
			all = append(all, detailColumn{page.Column{Title: title, Number: number, Own: true}, func(r trial.Result) page.Text { return page.Plain(text(r)) }})
		}
	}
	if mode == settings.Offline {
		add("Load", false, func(r trial.Result) string { return loadOf(r.Config) })
	} else if slices.ContainsFunc(v.Results, func(r trial.Result) bool { return r.Config.Members[0].Load.Batch > 1 }) {
		add("Client Batch Size", true, func(r trial.Result) string {
			return ofMembers(func(l trial.Load) string { return strconv.Itoa(l.Batch) })(r).String()
		})
	}
	for _, tag := range []trial.Metric{"time_to_first_token_p99", "inter_token_latency_p99", trial.OutputThroughput, "gpu_model_memory", "gpu_peak_memory", "gpu_process_memory"} {
		if hasMetric(v.Results, tag) {
			add(headerOf(tag), true, func(r trial.Result) string { return valueCell(r, tag).String() })
		}
	}
	add("Throughput, 95 % interval", true, func(r trial.Result) string { return intervalCell(r, trial.Throughput) })
	add("Requests", true, requestsCell)
	if slices.ContainsFunc(v.Results, func(r trial.Result) bool { return !r.Measurement.Stable }) {
		add("Settled", false, settledCell)
	}
	if len(m.Constraints()) > 0 {
		add("Satisfies Constraints", false, func(r trial.Result) string { return yesNo(m.Scorer.Passes(r.Measurement)) })
	}
	return all
}

// describeVariant says what the variant is, and on which devices it was measured.
func describeVariant(o *outcome, m *modelOutcome, v variantOutcome) []page.Block {
	on := "CPU"
	if variants := []variantOutcome{v}; o.GPU(variants) {
		names, memory := o.Devices(variants)
		on = fmt.Sprintf("GPU(s) %s with total memory %s", names, memory)
	}
	obtained := fmt.Sprintf("%d measurement(s) were obtained for the model config on %s.", len(v.Results), on)
	members := v.Best.Config.Members
	if len(members) == 1 && len(members[0].Composing) > 0 {
		var list page.List
		for _, c := range members[0].Composing {
			list = append(list, variantCell(o, c))
		}
		blocks := []page.Block{page.Paragraph(page.Mixed("", members[0].Name, " is comprised of the following composing models:")), list}
		if m.BLS() {
			blocks = append([]page.Block{page.List{variantCell(o, members[0].Variant)}}, blocks...)
		}
		return append(blocks, page.Paragraph(page.Plain(obtained)))
	}
	var all []page.Block
	for _, member := range members {
		all = append(all, page.Paragraph(page.Mixed("The model config ", member.Name, fmt.Sprintf(
			" uses %s with a max batch size of %d and has dynamic batching %s. This model uses the platform %s.",
			o.InstancePhrase(member.Variant), member.Config.GetMaxBatchSize(), strings.ToLower(batchingOf(member.Variant)), platformOf(member.Variant)))))
	}
	return append(all, page.Paragraph(page.Plain(obtained)))
}
