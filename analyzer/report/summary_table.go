package report

import (
	"fmt"
	"strconv"
	"strings"

	"triton/analyzer/report/page"
	"triton/analyzer/trial"
)

// summaryColumn is a column of the table with its cells.
type summaryColumn struct {
	page.Column
	text func(v variantOutcome) page.Text
}

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
	columns := b.columns(len(c.Members) > 1)
	t := page.Table{Caption: caption}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	for _, v := range b.best {
		row := make([]page.Text, len(columns))
		for i, c := range columns {
			row[i] = c.text(v)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (b summaryBuilder) columns(several bool) []summaryColumn {
	latency, throughput := "p99 Latency (ms)", "Throughput (infer/sec)"
	if several {
		latency, throughput = "Average "+latency, "Total "+throughput
	}
	all := []summaryColumn{
		{page.Column{Title: "Model Config Name"}, func(v variantOutcome) page.Text { return page.Plain(b.names(v)) }},
		{page.Column{Title: "Max Batch Size"}, b.configs(func(v trial.Variant) string { return strconv.Itoa(int(v.Config.GetMaxBatchSize())) })},
		{page.Column{Title: "Dynamic Batching"}, b.configs(batchingOf)},
		{page.Column{Title: "Total Instance Count"}, b.configs(b.o.InstanceCell)},
		{page.Column{Title: latency, Number: true}, metricColumn(trial.LatencyP99)},
		{page.Column{Title: throughput, Number: true}, metricColumn(trial.Throughput)},
	}
	if b.has(trial.CPUUsedRAM) {
		all = append(all, summaryColumn{page.Column{Title: "Max CPU Memory Usage (MB)", Number: true}, metricColumn(trial.CPUUsedRAM)})
	}
	if b.gpu {
		all = append(all,
			summaryColumn{page.Column{Title: "Max GPU Memory Usage (MB)", Number: true}, deviceColumn(trial.GPUUsedMemory)},
			summaryColumn{page.Column{Title: "Average GPU Utilization (%)", Number: true}, deviceColumn(trial.GPUUtilization)})
	}
	return append(all, b.own()...)
}

// ownMetrics are metrics that the table of Model Analyzer lacks.
var ownMetrics = []trial.Metric{
	"time_to_first_token_p99", "inter_token_latency_p99", trial.OutputThroughput,
	"gpu_model_memory", "gpu_instance_memory", "gpu_peak_memory", "gpu_process_memory", "gpu_headroom", "max_instances_fit",
}

// own returns the columns that Model Analyzer does not have.
func (b summaryBuilder) own() []summaryColumn {
	all := []summaryColumn{{page.Column{Title: "Load", Own: true}, func(v variantOutcome) page.Text { return page.Plain(loadOf(v.Best.Config)) }}}
	for _, tag := range ownMetrics {
		if b.has(tag) {
			all = append(all, summaryColumn{page.Column{Title: headerOf(tag), Number: true, Own: true}, metricColumn(tag)})
		}
	}
	if b.any(func(r trial.Result) bool { return intervalCell(r, trial.Throughput) != "" }) {
		all = append(all, summaryColumn{page.Column{Title: "Throughput, 95 % interval", Number: true, Own: true}, func(v variantOutcome) page.Text {
			return page.Plain(intervalCell(v.Best, trial.Throughput))
		}})
	}
	if b.any(func(r trial.Result) bool { return requestsCell(r) != "" }) {
		all = append(all, summaryColumn{page.Column{Title: "Requests", Number: true, Own: true}, func(v variantOutcome) page.Text { return page.Plain(requestsCell(v.Best)) }})
	}
	if b.any(func(r trial.Result) bool { return !r.Measurement.Stable }) {
		all = append(all, summaryColumn{page.Column{Title: "Settled", Own: true}, func(v variantOutcome) page.Text { return page.Plain(settledCell(v.Best)) }})
	}
	if len(b.m.Constraints()) > 0 {
		all = append(all, summaryColumn{page.Column{Title: "Satisfies Constraints", Own: true}, func(v variantOutcome) page.Text { return page.Plain(yesNo(v.Passing)) }})
	}
	return all
}

func (b summaryBuilder) has(tag trial.Metric) bool {
	return b.any(func(r trial.Result) bool {
		_, ok := valueOf(r, tag)
		return ok
	})
}

func (b summaryBuilder) any(is func(trial.Result) bool) bool {
	for _, v := range b.best {
		if is(v.Best) {
			return true
		}
	}
	return false
}

// names returns the name of a variant, with those of composing models if only they tell it from
// others.
func (b summaryBuilder) names(v variantOutcome) string {
	if v.Name == v.Key {
		return strings.ReplaceAll(v.Key, ",", ", ")
	}
	return strings.ReplaceAll(v.Name, ",", ", ")
}

// configs lists what a function says of the members or the composing models.
func (b summaryBuilder) configs(say func(trial.Variant) string) func(variantOutcome) page.Text {
	return func(v variantOutcome) page.Text {
		var all []string
		for _, c := range b.m.Configs(v.Best.Config, true) {
			all = append(all, say(c))
		}
		if len(all) == 1 {
			return page.Plain(all[0])
		}
		return page.Plain("(" + strings.Join(all, ", ") + ")")
	}
}

func metricColumn(tag trial.Metric) func(variantOutcome) page.Text {
	return func(v variantOutcome) page.Text { return valueCell(v.Best, tag) }
}

func deviceColumn(tag trial.Metric) func(variantOutcome) page.Text {
	return func(v variantOutcome) page.Text { return deviceCell(v.Best, tag) }
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
		Caption: counted(len(m.Failed), "trial") + " without a measurement:",
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
		t.Rows = append(t.Rows, []page.Text{page.Plain(allNames(r.Config)), page.Plain(loadOf(r.Config)), page.Plain(kind), page.Plain(reason)})
	}
	return append(all, page.Heading("Failed trials"), t)
}
