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

func measurementTable(o *outcome, m *modelOutcome, v variantOutcome, mode string) page.Table {
	sortBy, order := trial.LatencyP99, "p99 latency"
	if mode == settings.Offline {
		sortBy, order = trial.Throughput, "throughput"
	}
	results := slices.Clone(v.Results)
	sort.SliceStable(results, func(i, j int) bool {
		x, _ := valueOf(results[i], sortBy)
		y, _ := valueOf(results[j], sortBy)
		return x > y
	})
	caption := fmt.Sprintf("All measurements of this model config in decreasing order of %s:", order)
	return tableOf(caption, detailColumns(o, m, v, mode), results)
}

func detailColumns(o *outcome, m *modelOutcome, v variantOutcome, mode string) []column[trial.Result] {
	all := []column[trial.Result]{
		loadColumn(o, v, mode),
		metricColumn("p99 Latency (ms)", trial.LatencyP99),
		metricColumn("Client Response Wait (ms)", trial.ClientWait),
		metricColumn("Server Queue (ms)", trial.ServerQueue),
		metricColumn("Server Compute Input (ms)", trial.ServerInput),
		metricColumn("Server Compute Infer (ms)", trial.ServerInfer),
		metricColumn("Throughput (infer/sec)", trial.Throughput),
	}
	if hasMetric(v.Results, trial.CPUUsedRAM) {
		all = append(all, metricColumn("Max CPU Memory Usage (MB)", trial.CPUUsedRAM))
	}
	if o.GPU([]variantOutcome{v}) {
		all = append(all, metricColumn("Max GPU Memory Usage (MB)", trial.GPUUsedMemory), deviceColumn("Average GPU Utilization (%)", trial.GPUUtilization))
	}
	all = append(all, ownLoad(v, mode)...)
	for _, c := range ownColumns(m, v.Results, detailMetrics) { // without bold text
		all = append(all, ownColumn(c.Title, c.Number, func(r trial.Result) string { return c.text(r).String() }))
	}
	return all
}

// loadColumn is the first column: what the clients did.
func loadColumn(o *outcome, v variantOutcome, mode string) column[trial.Result] {
	title, of := "Request Concurrency", func(l trial.Load) string { return strconv.Itoa(l.Concurrency) }
	switch first := v.Results[0].Config.Members[0].Load; {
	case mode == settings.Offline:
		title, of = "Client Batch Size", func(l trial.Load) string { return strconv.Itoa(l.Batch) }
	case first.RequestRate > 0 || o.Report.RequestRate:
		title, of = "Request Rate", func(l trial.Load) string { return strconv.Itoa(l.RequestRate) }
	case first.Intervals != "":
		title, of = "Request Intervals File", func(l trial.Load) string { return l.Intervals }
	}
	return column[trial.Result]{page.Column{Title: title, Number: true}, ofMembers(of)}
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

// detailMetrics are metrics that the table of Model Analyzer lacks.
var detailMetrics = []trial.Metric{
	"time_to_first_token_p99", "inter_token_latency_p99", trial.OutputThroughput, "gpu_model_memory", "gpu_peak_memory", "gpu_process_memory",
}

// ownLoad returns columns of Model Analyzer's table that the first column leaves open.
func ownLoad(v variantOutcome, mode string) []column[trial.Result] {
	switch {
	case mode == settings.Offline:
		return []column[trial.Result]{ownColumn("Load", false, func(r trial.Result) string { return loadOf(r.Config) })}
	case slices.ContainsFunc(v.Results, func(r trial.Result) bool { return r.Config.Members[0].Load.Batch > 1 }):
		batch := ofMembers(func(l trial.Load) string { return strconv.Itoa(l.Batch) })
		return []column[trial.Result]{ownColumn("Client Batch Size", true, func(r trial.Result) string { return batch(r).String() })}
	}
	return nil
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
