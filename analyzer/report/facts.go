package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triton/analyzer/trial"
)

// GPU reports whether reports have metrics of devices for these variants: a model uses devices, or
// the user always wants them, and they were measured.
func (o *outcome) GPU(variants []variantOutcome) bool {
	for _, v := range variants {
		if !o.AlwaysGPU && v.Best.Config.CPUOnly() {
			continue
		}
		if slices.ContainsFunc(v.Results, func(r trial.Result) bool { return len(r.Measurement.GPUs) > 0 }) {
			return true
		}
	}
	return false
}

// Devices names the devices that were measured, such as "2 x NVIDIA A100", and the memory that all
// of them have, such as "160.0 GB".
func (o *outcome) Devices(variants []variantOutcome) (names, memory string) {
	used := map[string]bool{}
	for _, v := range variants {
		for _, r := range v.Results {
			for uuid := range r.Measurement.GPUs {
				used[uuid] = true
			}
		}
	}
	counts := map[string]int{}
	var order []string
	var total uint64
	for _, uuid := range slices.Sorted(maps.Keys(used)) {
		g, known := o.Report.GPUs[uuid]
		if !known {
			g.Name = "unknown GPU"
		}
		if counts[g.Name] == 0 {
			order = append(order, g.Name)
		}
		counts[g.Name]++
		total += g.Total
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%d x %s", counts[name], name)
	}
	return strings.Join(order, ", "), strconv.FormatFloat(float64(total)/(1<<30), 'f', 1, 64) + " GB"
}

// limit is one bound of a constraint.
type limit struct {
	Kind  string // "Min", "Max" or "Max per GPU"
	Tag   trial.Metric
	Name  string // of the metric, without its unit
	Unit  string
	Value float64
}

// limitsOf returns the bounds of a goal.
func limitsOf(g trial.Goal) []limit {
	var all []limit
	for _, c := range g.Constraints {
		spec, err := trial.FindMetric(c.Tag)
		if err != nil {
			continue
		}
		name, unit := splitUnit(spec.Header)
		for _, bound := range []struct {
			kind  string
			value *float64
		}{{"Min", c.Min}, {"Max", c.Max}, {"Max per GPU", c.MaxPerGPU}} {
			if bound.value != nil {
				all = append(all, limit{bound.kind, spec.Tag, name, unit, *bound.value})
			}
		}
	}
	return all
}

// splitUnit cuts the unit off a header: "p99 Latency (ms)" is "p99 Latency" in "ms".
func splitUnit(header string) (name, unit string) {
	i := strings.LastIndex(header, " (")
	if i < 0 || !strings.HasSuffix(header, ")") {
		return header, ""
	}
	return header[:i], header[i+2 : len(header)-1]
}

func (l limit) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", l.Kind, l.Name, strconv.FormatFloat(l.Value, 'f', -1, 64), l.Unit))
}

// Constraints lists the constraints of each member; empty ones are left out. With one member the
// list has one text without the name.
func (m *modelOutcome) Constraints() []string {
	var all []string
	for _, member := range m.Members {
		var limits []string
		for _, l := range limitsOf(member.Goal) {
			limits = append(limits, l.String())
		}
		text := strings.Join(limits, ", ")
		if len(m.Members) > 1 && text != "" {
			text = member.Model + ": " + text
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}
