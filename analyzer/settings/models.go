package settings

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// listValue is a list of named things, such as models: names, a mapping of names to their options, or a
// list of both.
type listValue[T any] struct {
	to   *[]T
	make func(name string) T
	name func(T) string
	read func(f field) T // of a mapping's member
}

// modelsValue is a list of models.
func modelsValue(to *[]Model) listValue[Model] {
	return listValue[Model]{to, func(name string) Model { return Model{Name: name} }, func(m Model) string { return m.Name }, field.model}
}

// reportConfigsValue is a list of variants to report.
func reportConfigsValue(to *[]ReportConfig) listValue[ReportConfig] {
	return listValue[ReportConfig]{
		to, func(name string) ReportConfig { return ReportConfig{Name: name} },
		func(c ReportConfig) string { return c.Name }, field.reportConfig,
	}
}

func (v listValue[T]) Set(text string) error {
	all := []T{}
	for _, name := range splitList(text) {
		all = append(all, v.make(name))
	}
	*v.to = all
	return nil
}

func (v listValue[T]) String() string {
	names := []string{}
	for _, one := range *v.to {
		names = append(names, v.name(one))
	}
	return strings.Join(names, ",")
}
func (v listValue[T]) Type() string { return "list" }
func (v listValue[T]) decode(f field) {
	all := []T{}
	add := func(of field) {
		for _, m := range of.members() {
			all = append(all, v.read(m))
		}
	}
	switch f.node.Kind {
	case yaml.MappingNode:
		add(f)
	case yaml.SequenceNode:
		for _, item := range f.items() {
			if item.node.Kind == yaml.MappingNode {
				add(item)
			} else if name, ok := item.scalar(); ok {
				all = append(all, v.make(strings.TrimSpace(name)))
			}
		}
	default:
		assign(f, v.Set)
		return
	}
	*v.to = all
}

// decoder is a value that files can set.
type decoder interface{ decode(f field) }

// model reads the options of one model.
func (f field) model() Model {
	m := Model{Name: f.key, own: map[string]bool{}}
	if isNull(f.node) || !f.object() {
		return m
	}
	f.fill(m.own, "", m.decoders())
	return m
}

// decoders returns the options of one model by key.
func (m *Model) decoders() map[string]decoder {
	return map[string]decoder{
		"cpu_only":                  boolValue(&m.CPUOnly),
		"parameters":                parametersValue{m},
		"objectives":                objectivesValue{&m.Objectives},
		"constraints":               constraintsValue{&m.Constraints},
		"weighting":                 intValue(&m.Weight, 1, anyInt),
		"model_config_parameters":   alternativesValue{&m.Parameters},
		"perf_analyzer_flags":       flagsValue{&m.PerfFlags, perfFlags},
		"genai_perf_flags":          flagsValue{&m.GenAIPerfFlags, genAIPerfFlags},
		"triton_server_flags":       flagsValue{&m.ServerFlags, serverFlags},
		"triton_server_environment": mapValue{&m.ServerEnvironment},
		"triton_docker_args":        dockerValue{&m.DockerArgs},
	}
}

// fill decodes the members of a mapping and notes which are there. Null is the same as absent.
func (f field) fill(set map[string]bool, prefix string, known map[string]decoder) {
	for _, m := range f.members() {
		d, ok := known[m.key]
		if !ok {
			f.unknownKey(m, sortedKeys(known))
			continue
		}
		if isNull(m.node) {
			continue
		}
		d.decode(m)
		set[prefix+m.key] = true
	}
}

// parametersValue is the loads of one model.
type parametersValue struct{ to *Model }

func (v parametersValue) decode(f field) {
	if !f.object() {
		return
	}
	f.fill(v.to.own, "parameters.", loadDecoders(v.to))
}

// loadDecoders returns the loads of one model by key.
func loadDecoders(m *Model) map[string]decoder {
	return map[string]decoder{
		"batch_sizes":  intsValue{&m.BatchSizes},
		"concurrency":  intsValue{&m.Concurrency},
		"request_rate": intsValue{&m.RequestRate},
	}
}

// reportConfig reads the options of one variant to report.
func (f field) reportConfig() ReportConfig {
	c := ReportConfig{Name: f.key}
	if !isNull(f.node) && f.object() {
		f.fill(map[string]bool{}, "", map[string]decoder{"plots": plotsValue{&c.Plots}})
	}
	return c
}
