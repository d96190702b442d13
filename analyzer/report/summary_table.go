package report

import (
	"fmt"
	"strconv"
	"strings"

	"triton/analyzer/report/page"
	"triton/analyzer/trial"
	"triton/pkg/ui"
)

// table compares the best variants by their best measurements.
func (b summaryBuilder) table() page.Table {
	caption := "The following table summarizes each configuration at the measurement that optimizes the desired metrics under the given constraints."
	c := b.best[0].Best.Config
	if len(c.Members) > 1 {
		caption += " Per model values are parenthetical."
	}
	if composing := c.Members[0].Composing; len(c.Members) == 1 && len(composing) > 0 {
		kind := "ensemble's"
		if b.m.BLS() {
			kind = "BLS"
		}
		models := make([]string, len(composing))
		for i, v := range composing {
			models[i] = v.Model
		}
		caption += fmt.Sprintf(" The %s composing model values are listed in the following order: %s", kind, strings.Join(models, ", "))
	}
	return tableOf(caption, b.columns(len(c.Members) > 1), b.best)
}

func (b summaryBuilder) columns(several bool) []column[variantOutcome] {
	latency, throughput := "p99 Latency (ms)", "Throughput (infer/sec)"
	if several {
		latency, throughput = "Average "+latency, "Total "+throughput
	}
	results := make([]trial.Result, len(b.best))
	for i, v := range b.best {
		results[i] = v.Best
	}
	cells := []column[trial.Result]{
		{page.Column{Title: "Max Batch Size"}, b.configs(func(v trial.Variant) string { return strconv.Itoa(int(v.Config.GetMaxBatchSize())) })},
		{page.Column{Title: "Dynamic Batching"}, b.configs(batchingOf)},
		{page.Column{Title: "Total Instance Count"}, b.configs(b.o.InstanceCell)},
		metricColumn(latency, trial.LatencyP99),
		metricColumn(throughput, trial.Throughput),
	}
	if hasMetric(results, trial.CPUUsedRAM) {
		cells = append(cells, metricColumn("Max CPU Memory Usage (MB)", trial.CPUUsedRAM))
	}
	if b.gpu {
		cells = append(cells, deviceColumn("Max GPU Memory Usage (MB)", trial.GPUUsedMemory), deviceColumn("Average GPU Utilization (%)", trial.GPUUtilization))
	}
	cells = append(cells, ownColumn("Load", false, func(r trial.Result) string { return loadOf(r.Config) }))
	cells = append(cells, ownColumns(b.m, results, summaryMetrics)...)

	all := []column[variantOutcome]{{page.Column{Title: "Model Config Name"}, func(v variantOutcome) page.Text {
		return page.Plain(strings.ReplaceAll(v.Name, ",", ", "))
	}}}
	for _, c := range cells {
		all = append(all, column[variantOutcome]{c.Column, func(v variantOutcome) page.Text { return c.text(v.Best) }})
	}
	return all
}

// summaryMetrics are metrics that the table of Model Analyzer lacks.
var summaryMetrics = []trial.Metric{
	"time_to_first_token_p99", "inter_token_latency_p99", trial.OutputThroughput,
	"gpu_model_memory", "gpu_instance_memory", "gpu_peak_memory", "gpu_process_memory", "gpu_headroom", "max_instances_fit",
}

// configs lists what a function says of the members or the composing models.
func (b summaryBuilder) configs(say func(trial.Variant) string) func(trial.Result) page.Text {
	return func(r trial.Result) page.Text {
		var all []string
		for _, c := range b.m.Configs(r.Config, true) {
			all = append(all, say(c))
		}
		if len(all) == 1 {
			return page.Plain(all[0])
		}
		return page.Plain("(" + strings.Join(all, ", ") + ")")
	}
}

// searchBlocks says why the search ended, and which trials failed.
func searchBlocks(o *outcome, m *modelOutcome) []page.Block {
	var lines page.List
	add := func(text string) { lines = append(lines, page.Plain(text)) }
	if m.Reason != "" {
		add("The search ended: " + m.Reason)
	}
	if m.Err != nil {
		add("The search failed: " + m.Err.Error())
	}
	if o.Report.Interrupted {
		add("The run was interrupted: what was measured until then is in this report.")
	}
	for _, w := range o.Report.Warnings {
		add(w)
	}
	var all []page.Block
	if len(lines) > 0 {
		all = append(all, page.Heading("Search"), lines)
	}
	if len(m.Failed) == 0 {
		return all
	}
	t := page.Table{
		Caption: ui.Plural(len(m.Failed), "trial") + " without a measurement:",
		Columns: []page.Column{{Title: "Model Config Name"}, {Title: "Load"}, {Title: "Kind"}, {Title: "Reason"}},
	}
	for _, r := range m.Failed {
		kind, reason := "other", "unknown"
		if f := r.Failure; f != nil {
			kind = string(f.Class)
			if f.Err != nil {
				reason = f.Err.Error()
			}
		}
		t.Rows = append(t.Rows, []page.Text{page.Plain(strings.Join(r.Config.AllVariants(), ", ")), page.Plain(loadOf(r.Config)), page.Plain(kind), page.Plain(reason)})
	}
	return append(all, page.Heading("Failed trials"), t)
}
