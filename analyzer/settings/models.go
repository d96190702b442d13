package settings

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// modelsValue is a list of models: names, a mapping of names to their options, or a list of both.
type modelsValue struct{ to *[]Model }

func (v modelsValue) Set(text string) error {
	models := []Model{}
	for _, name := range splitList(text) {
		models = append(models, Model{Name: name})
	}
	*v.to = models
	return nil
}

func (v modelsValue) String() string {
	names := []string{}
	for _, m := range *v.to {
		names = append(names, m.Name)
	}
	return strings.Join(names, ",")
}
func (v modelsValue) Type() string { return "list" }
func (v modelsValue) decode(f field) {
	models := []Model{}
	add := func(of field) {
		for _, m := range of.members() {
			models = append(models, m.model())
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
				models = append(models, Model{Name: strings.TrimSpace(name)})
			}
		}
	default:
		assign(f, v.Set)
		return
	}
	*v.to = models
}

// decoder is a value that files can set.
type decoder interface{ decode(f field) }

// model reads the options of one model.
func (f field) model() Model {
	m := Model{Name: f.key, own: map[string]bool{}}
	if isNull(f.node) || !f.object() {
		return m
	}
	f.fill(m.own, "", map[string]decoder{
		"cpu_only":                  boolValue{&m.CPUOnly},
		"parameters":                parametersValue{&m},
		"objectives":                objectivesValue{&m.Objectives},
		"constraints":               constraintsValue{&m.Constraints},
		"weighting":                 intValue{&m.Weight, 1, anyInt},
		"model_config_parameters":   sweepValue{&m.Parameters},
		"perf_analyzer_flags":       flagsValue{&m.PerfFlags, perfFlags},
		"genai_perf_flags":          flagsValue{&m.GenAIPerfFlags, genAIPerfFlags},
		"triton_server_flags":       flagsValue{&m.ServerFlags, serverFlags},
		"triton_server_environment": mapValue{&m.ServerEnvironment},
		"triton_docker_args":        dockerValue{&m.DockerArgs},
	})
	return m
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
	f.fill(v.to.own, "parameters.", map[string]decoder{
		"batch_sizes":  intsValue{&v.to.BatchSizes},
		"concurrency":  intsValue{&v.to.Concurrency},
		"request_rate": intsValue{&v.to.RequestRate},
	})
}

// reportConfigsValue is a list of variants to report, in the forms of modelsValue.
type reportConfigsValue struct{ to *[]ReportConfig }

func (v reportConfigsValue) Set(text string) error {
	configs := []ReportConfig{}
	for _, name := range splitList(text) {
		configs = append(configs, ReportConfig{Name: name})
	}
	*v.to = configs
	return nil
}

func (v reportConfigsValue) String() string {
	names := []string{}
	for _, c := range *v.to {
		names = append(names, c.Name)
	}
	return strings.Join(names, ",")
}
func (v reportConfigsValue) Type() string { return "list" }
func (v reportConfigsValue) decode(f field) {
	configs := []ReportConfig{}
	add := func(of field) {
		for _, m := range of.members() {
			c := ReportConfig{Name: m.key}
			if !isNull(m.node) && m.object() {
				m.fill(map[string]bool{}, "", map[string]decoder{"plots": plotsValue{&c.Plots}})
			}
			configs = append(configs, c)
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
				configs = append(configs, ReportConfig{Name: strings.TrimSpace(name)})
			}
		}
	default:
		assign(f, v.Set)
		return
	}
	*v.to = configs
}
