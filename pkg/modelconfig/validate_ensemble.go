package modelconfig

import (
	"fmt"
	"maps"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/spelling"
)

// ensemble checks an ensemble without the configurations of its models.
func (v *validator) ensemble() {
	e := v.GetEnsembleScheduling()
	switch {
	case e == nil && v.Platform == ensemblePlatform:
		v.add(ruleEnsemble, "platform", "add ensemble_scheduling",
			"ensemble scheduling must be set for ensemble %s whose platform is ensemble", v.Name)
		return
	case e == nil:
		return
	case v.Platform != ensemblePlatform:
		v.add(ruleEnsemble, "ensemble_scheduling", `write platform: "ensemble" and no backend`,
			"ensemble scheduling cannot be set for model '%s' whose platform is not ensemble", v.Name)
		return
	}
	const hint = "remove it: the composing models have their own"
	if len(v.InstanceGroup) > 0 {
		v.add(ruleEnsemble, "instance_group", hint, "instance group should not be specified for ensemble '%s'", v.Name)
	}
	if v.Optimization != nil {
		v.add(ruleEnsemble, "optimization", hint, "optimization should not be specified for ensemble '%s'", v.Name)
	}
	if len(v.ModelWarmup) > 0 {
		v.add(ruleEnsemble, "model_warmup", hint, "model_warmup can not be specified for ensemble '%s'", v.Name)
	}
	if len(e.Step) == 0 {
		v.add(ruleEnsemble, "ensemble_scheduling", "add one step per model", "must specify 'step' for ensemble '%s'", v.Name)
	}
	if v.steps(e) {
		v.connections(e)
	}
}

func (v *validator) steps(e *pb.ModelEnsembling) bool {
	before := len(v.found)
	written := make(map[string]bool)
	for i, s := range e.Step {
		path := fmt.Sprintf("ensemble_scheduling.step[%d]", i)
		missing := func(field string) {
			v.add(ruleEnsembleStep, path, "add it", "must specify '%s' in step %d of ensemble '%s'", field, i, v.Name)
		}
		switch {
		case s.ModelName == "":
			missing("model_name")
		case len(s.InputMap) == 0:
			missing("input_map")
		case len(s.OutputMap) == 0:
			missing("output_map")
		}
		for _, out := range slices.Sorted(maps.Keys(s.OutputMap)) {
			t := s.OutputMap[out]
			if written[t] {
				v.add(ruleEnsembleStep, fmt.Sprintf("%s.output_map[%q]", path, out), "give each output a tensor of its own",
					"ensemble tensor '%s' can appear in an output map only once for ensemble '%s' step %d", t, v.Name, i)
			}
			written[t] = true
		}
	}
	return len(v.found) == before && len(e.Step) > 0
}

// tensorGraph is the graph of the steps and tensors of an ensemble. At most one step writes a
// tensor: the method steps reports the others.
type tensorGraph struct {
	steps   []*pb.ModelEnsembling_Step
	writer  map[string]int   // index of the step
	readers map[string][]int // each step once
	ready   map[string]bool
}

func newTensorGraph(e *pb.ModelEnsembling) *tensorGraph {
	g := &tensorGraph{steps: e.Step, writer: map[string]int{}, readers: map[string][]int{}, ready: map[string]bool{}}
	for i, s := range e.Step {
		for _, name := range tensorsOf(s.InputMap) {
			g.readers[name] = append(g.readers[name], i)
		}
		for _, name := range s.OutputMap {
			g.writer[name] = i
		}
	}
	return g
}

// tensorsOf returns the ensemble tensors of a step's map, each once, by name.
func tensorsOf(m map[string]string) []string {
	return slices.Compact(slices.Sorted(maps.Values(m)))
}

func (g *tensorGraph) has(name string) bool {
	_, written := g.writer[name]
	return written || len(g.readers[name]) > 0
}

// names returns all tensors, sorted.
func (g *tensorGraph) names() []string {
	list := slices.AppendSeq(slices.Collect(maps.Keys(g.writer)), maps.Keys(g.readers))
	slices.Sort(list)
	return slices.Compact(list)
}

// flow marks the tensors that become ready once the given ones are.
func (g *tensorGraph) flow(queue []string) {
	missing := make([]int, len(g.steps))
	for i, s := range g.steps {
		missing[i] = len(tensorsOf(s.InputMap))
	}
	for _, name := range queue {
		g.ready[name] = true
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		for _, i := range g.readers[name] {
			if missing[i]--; missing[i] > 0 {
				continue
			}
			for _, out := range g.steps[i].OutputMap {
				if !g.ready[out] {
					g.ready[out] = true
					queue = append(queue, out)
				}
			}
		}
	}
}

// cause follows the steps back from a tensor that is not written, to the tensor that no step
// writes or that is part of a cycle.
func (g *tensorGraph) cause(name string) string {
	seen := map[string]bool{name: true}
	for {
		i, written := g.writer[name]
		if !written {
			return name
		}
		before := tensorsOf(g.steps[i].InputMap)
		at := slices.IndexFunc(before, func(n string) bool { return !g.ready[n] && !seen[n] })
		if at < 0 {
			return name
		}
		name = before[at]
		seen[name] = true
	}
}

func (v *validator) connections(e *pb.ModelEnsembling) {
	g := newTensorGraph(e)
	given := make(map[string]bool)
	for i, in := range v.Input {
		if !g.has(in.Name) {
			v.add(ruleEnsembleTensor, fmt.Sprintf("input[%d]", i), spelling.Hint(in.Name, g.names(), "name it in the input_map of a step, or remove it"),
				"ensemble input '%s' for ensemble %s' is not used", in.Name, v.Name)
			continue
		}
		given[in.Name] = true
	}
	g.flow(slices.Sorted(maps.Keys(given)))
	outputs := make(map[string]bool)
	for i, out := range v.Output {
		outputs[out.Name] = true
		v.ensembleOutput(g, fmt.Sprintf("output[%d]", i), out.Name)
	}
	if len(v.found) > 0 {
		return // further findings would only follow from these
	}
	for _, name := range g.names() {
		if !outputs[name] && (!g.ready[name] || len(g.readers[name]) == 0) {
			v.add(ruleEnsembleTensor, "ensemble_scheduling", "use it in a step, or take it out of the output_map",
				"ensemble tensor '%s' is unused in ensemble '%s'", name, v.Name)
		}
	}
}

func (v *validator) ensembleOutput(g *tensorGraph, path, name string) {
	switch {
	case !g.has(name):
		v.add(ruleEnsembleTensor, path, spelling.Hint(name, g.names(), "name it in the output_map of a step, or remove it"),
			"ensemble output '%s' for ensemble %s' is not used", name, v.Name)
	case !g.ready[name]:
		msg := fmt.Sprintf("output '%s' for ensemble '%s' is not written", name, v.Name)
		if cause := g.cause(name); cause != name {
			msg += fmt.Sprintf(": at least one of its depending tensors, '%s', is not connected", cause)
		}
		v.add(ruleEnsembleTensor, path, "connect the steps before it to the ensemble's inputs", "%s", msg)
	}
}
