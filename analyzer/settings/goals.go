package settings

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"triton/analyzer/trial"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// metricNames returns all tags that files may name, with their aliases.
func metricNames() []string {
	names := []string{"perf_latency", "cpu_free_ram"}
	for _, t := range trial.Metrics() {
		names = append(names, string(t))
	}
	return names
}

// listWeight is the weight of an objective that is named without one.
const listWeight = 10

// objectivesValue is a mapping of metrics to weights, or a list of metrics.
type objectivesValue struct{ to *[]trial.Objective }

func (v objectivesValue) Set(string) error { return errFileOnly }
func (v objectivesValue) String() string {
	texts := []string{}
	for _, o := range *v.to {
		texts = append(texts, string(o.Tag))
	}
	return strings.Join(texts, ",")
}
func (v objectivesValue) Type() string { return "mapping" }
func (v objectivesValue) decode(f field) {
	objectives := []trial.Objective{}
	if f.node.Kind == yaml.MappingNode {
		for _, m := range f.members() {
			if _, err := trial.FindMetric(trial.Metric(m.key)); err != nil {
				f.unknownKey(m, metricNames())
				continue
			}
			weight := 0
			intValue(&weight, 1, anyInt).decode(m)
			objectives = append(objectives, trial.Objective{Tag: trial.Metric(m.key), Weight: weight})
		}
	} else {
		for _, name := range f.texts() {
			if _, err := trial.FindMetric(trial.Metric(name)); err != nil {
				f.fail("%v.%s", err, didYouMean(name, metricNames()))
				continue
			}
			objectives = append(objectives, trial.Objective{Tag: trial.Metric(name), Weight: listWeight})
		}
	}
	*v.to = objectives
}

// bounds returns the keys that a constraint of a metric may have; none if it cannot be constrained.
func bounds(tag string) []string {
	switch {
	case tag == "perf_throughput", tag == "output_token_throughput", tag == "gpu_headroom":
		return []string{"min"}
	case tag == "perf_latency", strings.HasPrefix(tag, "perf_latency_"),
		strings.HasPrefix(tag, "inter_token_latency_"), strings.HasPrefix(tag, "time_to_first_token_"),
		tag == "gpu_power_usage", tag == "cpu_used_ram":
		return []string{"max"}
	case tag == "gpu_used_memory":
		return []string{"max", "max_per_gpu"}
	case tag == "gpu_utilization":
		return []string{"min", "max"}
	}
	return nil
}

func constrainedMetrics() []string {
	return slices.DeleteFunc(metricNames(), func(tag string) bool { return bounds(tag) == nil })
}

// constraintsValue is a mapping of metrics to bounds.
type constraintsValue struct{ to *[]trial.Constraint }

func (v constraintsValue) Set(string) error { return errFileOnly }
func (v constraintsValue) String() string   { return "" }
func (v constraintsValue) Type() string     { return "mapping" }
func (v constraintsValue) decode(f field) {
	if !f.object() {
		return
	}
	constraints := []trial.Constraint{}
	for _, m := range f.members() {
		if _, err := trial.FindMetric(trial.Metric(m.key)); err != nil || bounds(m.key) == nil {
			f.unknownKey(m, constrainedMetrics())
			continue
		}
		if m.object() {
			constraints = append(constraints, m.constraint())
		}
	}
	*v.to = constraints
}

func (f field) constraint() trial.Constraint {
	c := trial.Constraint{Tag: trial.Metric(f.key)}
	to := map[string]**float64{"min": &c.Min, "max": &c.Max, "max_per_gpu": &c.MaxPerGPU}
	for _, b := range f.members() {
		if !slices.Contains(bounds(f.key), b.key) {
			f.unknownKey(b, bounds(f.key))
			continue
		}
		assign(b, func(text string) error {
			x, err := parseFloat(text)
			*to[b.key] = &x
			return err
		})
	}
	return c
}

// constrain replaces the constraint of a metric, or adds it.
func constrain(all []trial.Constraint, c trial.Constraint) []trial.Constraint {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Tag == c.Tag {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}
