package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triton/analyzer/trial"
)

// fieldHeaders are the headers of the output fields that are no metrics.
var fieldHeaders = map[string]string{
	"model_name":            "Model",
	"batch_size":            "Batch",
	"concurrency":           "Concurrency",
	"request_rate":          "Request Rate",
	"model_config_path":     "Model Config Path",
	"instance_group":        "Instance Group",
	"max_batch_size":        "Max Batch Size",
	"satisfies_constraints": "Satisfies Constraints",
	"gpu_uuid":              "GPU UUID",
}

// parameterPrefix is the prefix of fields that are parameters of a backend.
const parameterPrefix = "backend_parameter/"

// noneCell is the cell of a value that does not exist.
const noneCell = "None"

// resultColumn is an output field that has data.
type resultColumn struct {
	field string
	tag   trial.Metric // empty unless the field is a metric
}

// columns returns the columns of the fields that have data.
func (t *resultTable) columns(fields []string, kind string, has func(trial.Metric) bool) []resultColumn {
	var all []resultColumn
	for _, field := range fields {
		spec, err := trial.FindMetric(trial.Metric(field))
		switch header, known := fieldHeaders[field]; {
		case known:
			t.Headers = append(t.Headers, header)
			all = append(all, resultColumn{field: field})
		case strings.HasPrefix(field, parameterPrefix):
			t.Headers = append(t.Headers, field)
			all = append(all, resultColumn{field: field})
		case err == nil && has(spec.Tag):
			// Model Analyzer leaves the aggregation ("Max ", "Average ") out here.
			t.Headers = append(t.Headers, spec.Header)
			all = append(all, resultColumn{field, spec.Tag})
		default:
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s output field %q, has no data", kind, field))
		}
	}
	return all
}

// serverTable is the table of the server without models.
func serverTable(o *outcome, fields []string) *resultTable {
	t := &resultTable{Title: "Server Only"}
	devices := o.Report.ServerOnly
	columns := t.columns(fields, "Server", func(tag trial.Metric) bool { return anyDevice(devices, tag) })
	for _, uuid := range slices.Sorted(maps.Keys(devices)) {
		cells := map[string]string{"model_name": "triton-server", "gpu_uuid": uuid}
		t.row(columns, cells, func(tag trial.Metric) string { return deviceValue(devices[uuid], tag) })
	}
	return t
}

// inferenceTable is the table of all measurements.
func inferenceTable(o *outcome, fields []string) *resultTable {
	t := &resultTable{Title: "Models (Inference)"}
	columns := t.columns(fields, "Inference", func(tag trial.Metric) bool {
		return anyResult(o, func(r trial.Result) bool { return len(valuesOf(r.Measurement, tag)) > 0 })
	})
	eachResult(o, func(m *modelOutcome, r trial.Result, passes bool) {
		cells := commonCells(o, m, r, passes)
		for _, c := range columns {
			if key, ok := strings.CutPrefix(c.field, parameterPrefix); ok {
				cells[c.field] = parameterCell(m.Configs(r.Config, false), key)
			}
		}
		t.row(columns, cells, func(tag trial.Metric) string { return metricCell(r, tag) })
	})
	return t
}

// gpuTable is the table of the devices of all measurements.
func gpuTable(o *outcome, fields []string) *resultTable {
	t := &resultTable{Title: "Models (GPU Metrics)"}
	columns := t.columns(fields, "GPU", func(tag trial.Metric) bool {
		return anyDevice(o.Report.ServerOnly, tag) || anyResult(o, func(r trial.Result) bool { return anyDevice(r.Measurement.GPUs, tag) })
	})
	eachResult(o, func(m *modelOutcome, r trial.Result, passes bool) {
		if r.Config.CPUOnly() && !o.AlwaysGPU {
			return
		}
		devices := r.Measurement.GPUs
		for _, uuid := range slices.Sorted(maps.Keys(devices)) {
			cells := commonCells(o, m, r, passes)
			cells["gpu_uuid"] = uuid
			t.row(columns, cells, func(tag trial.Metric) string { return deviceValue(devices[uuid], tag) })
		}
	})
	return t
}

// eachResult calls do with all measurements: variants from best to worst, of each those that
// satisfy the constraints first.
func eachResult(o *outcome, do func(m *modelOutcome, r trial.Result, passes bool)) {
	for i := range o.Models {
		for _, v := range o.Models[i].Variants {
			for _, r := range v.Passed {
				do(&o.Models[i], r, true)
			}
			for _, r := range v.Missed {
				do(&o.Models[i], r, false)
			}
		}
	}
}

func anyResult(o *outcome, is func(trial.Result) bool) bool {
	for i := range o.Models {
		if slices.ContainsFunc(o.Models[i].Results, func(r trial.Result) bool { return r.Measurement != nil && is(r) }) {
			return true
		}
	}
	return false
}

func anyDevice(devices map[string]trial.Values, tag trial.Metric) bool {
	for _, values := range devices {
		if _, ok := values[tag]; ok {
			return true
		}
	}
	return false
}

func (t *resultTable) row(columns []resultColumn, cells map[string]string, value func(trial.Metric) string) {
	row := make([]string, len(columns))
	for i, c := range columns {
		cell, ok := cells[c.field]
		switch {
		case c.tag != "":
			row[i] = value(c.tag)
		case ok:
			row[i] = cell
		default:
			row[i] = noneCell
		}
	}
	t.Rows = append(t.Rows, row)
}

// commonCells returns the cells that all tables of measurements have, by field.
func commonCells(o *outcome, m *modelOutcome, r trial.Result, passes bool) map[string]string {
	var batches, concurrencies, rates, groups, sizes []string
	for _, member := range r.Config.Members {
		l := member.Load
		batches = append(batches, strconv.Itoa(l.Batch))
		if l.Concurrency > 0 {
			concurrencies = append(concurrencies, strconv.Itoa(l.Concurrency))
		}
		if l.RequestRate > 0 {
			rates = append(rates, strconv.Itoa(l.RequestRate))
		}
	}
	for _, v := range m.Configs(r.Config, false) {
		groups = append(groups, o.InstanceCell(v))
		sizes = append(sizes, strconv.Itoa(int(v.Config.GetMaxBatchSize())))
	}
	satisfies := "No"
	if passes {
		satisfies = "Yes"
	}
	return map[string]string{
		"model_name":            quoted(m.Name),
		"batch_size":            listCell(batches),
		"concurrency":           listCell(concurrencies),
		"request_rate":          listCell(rates),
		"model_config_path":     quoted(configPath(m, r.Config)),
		"instance_group":        listCell(groups),
		"max_batch_size":        listCell(sizes),
		"satisfies_constraints": satisfies,
	}
}

// configPath returns the names of the variants; that of an ensemble is followed by those of its
// composing models.
func configPath(m *modelOutcome, c trial.Config) string {
	path := strings.Join(c.Variants(), ",")
	if len(c.Members) != 1 {
		return path
	}
	composing := m.Configs(c, false)
	if len(composing) == 0 || composing[0].Name == c.Members[0].Name {
		return path
	}
	var names []string
	for _, v := range composing {
		names = append(names, v.Name)
	}
	return path + ": " + strings.Join(names, ", ")
}

func parameterCell(configs []trial.Variant, key string) string {
	var all []string
	for _, v := range configs {
		p, ok := v.Config.GetParameters()[key]
		if !ok {
			return noneCell
		}
		all = append(all, p.GetStringValue())
	}
	return listCell(all)
}

// metricCell returns a metric of a trial: the combined value and those of the members, if there are
// several.
func metricCell(r trial.Result, tag trial.Metric) string {
	values := valuesOf(r.Measurement, tag)
	switch len(values) {
	case 0:
		return noneCell
	case 1:
		return oneDigit(values[0])
	}
	spec, err := trial.FindMetric(tag)
	if err != nil {
		return noneCell
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = oneDigit(v)
	}
	return fmt.Sprintf(`"%s, [%s]"`, oneDigit(spec.Fold.Combine(values)), strings.Join(all, ","))
}

func deviceValue(values trial.Values, tag trial.Metric) string {
	v, ok := values[tag]
	if !ok {
		return noneCell
	}
	return oneDigit(v)
}

// oneDigit formats a value with one digit after the point.
func oneDigit(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// quoted quotes a cell with a comma.
func quoted(s string) string {
	if strings.Contains(s, ",") {
		return `"` + s + `"`
	}
	return s
}

// listCell returns a cell with several values, or the value itself if it is the only one.
func listCell(values []string) string {
	switch len(values) {
	case 0:
		return noneCell
	case 1:
		return values[0]
	}
	return `"` + strings.Join(values, ",") + `"`
}
