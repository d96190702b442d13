package modelconfig

import (
	"fmt"
	"maps"
	"slices"

	pb "triton/pkg/inferencepb"
)

// ensemble checks what the configuration alone can say about an ensemble.
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
	const hint = "remove it: the models of the steps have their own"
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

// node of the graph whose edges are the steps.
type ensembleTensor struct {
	from, to map[string]bool
	ready    bool
}

func ensembleGraph(e *pb.ModelEnsembling) tensorGraph {
	g := make(tensorGraph)
	get := func(name string) *ensembleTensor {
		if g[name] == nil {
			g[name] = &ensembleTensor{from: map[string]bool{}, to: map[string]bool{}}
		}
		return g[name]
	}
	for _, s := range e.Step {
		for _, in := range s.InputMap {
			for _, out := range s.OutputMap {
				get(in).to[out] = true
				get(out).from[in] = true
			}
		}
	}
	return g
}

func (v *validator) connections(e *pb.ModelEnsembling) {
	g := ensembleGraph(e)
	var queue []string
	for i, in := range v.Input {
		if t := g[in.Name]; t != nil {
			t.ready = true
			queue = append(queue, in.Name)
		} else {
			v.add(ruleEnsembleTensor, fmt.Sprintf("input[%d]", i), "name it in the input_map of a step, or remove it",
				"ensemble input '%s' for ensemble %s' is not used", in.Name, v.Name)
		}
	}
	for len(queue) > 0 {
		t := g[queue[0]]
		queue = queue[1:]
		for next := range t.to {
			if n := g[next]; !n.ready && g.allReady(n.from) {
				n.ready = true
				queue = append(queue, next)
			}
		}
	}
	outputs := make(map[string]bool)
	for i, out := range v.Output {
		outputs[out.Name] = true
		v.ensembleOutput(g, fmt.Sprintf("output[%d]", i), out.Name)
	}
	if len(v.found) > 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if t := g[name]; !outputs[name] && (!t.ready || len(t.to) == 0) {
			v.add(ruleEnsembleTensor, "ensemble_scheduling", "use it in a step, or take it out of the output_map",
				"ensemble tensor '%s' is unused in ensemble '%s'", name, v.Name)
		}
	}
}

func (v *validator) ensembleOutput(g tensorGraph, path, name string) {
	t := g[name]
	switch {
	case t == nil:
		v.add(ruleEnsembleTensor, path, "name it in the output_map of a step, or remove it",
			"ensemble output '%s' for ensemble %s' is not used", name, v.Name)
	case !t.ready:
		msg := fmt.Sprintf("output '%s' for ensemble '%s' is not written", name, v.Name)
		if cause := g.cause(name); cause != name {
			msg += fmt.Sprintf(": at least one of its depending tensors, '%s', is not connected", cause)
		}
		v.add(ruleEnsembleTensor, path, "connect the steps before it to the ensemble's inputs", "%s", msg)
	}
}

type tensorGraph map[string]*ensembleTensor

func (g tensorGraph) allReady(names map[string]bool) bool {
	for n := range names {
		if !g[n].ready {
			return false
		}
	}
	return true
}

// cause walks back from a tensor that is not written to the first one at fault.
func (g tensorGraph) cause(name string) string {
	seen := map[string]bool{name: true}
	for {
		next := ""
		for _, from := range slices.Sorted(maps.Keys(g[name].from)) {
			if !g[from].ready && !seen[from] {
				next = from
				break
			}
		}
		if next == "" {
			return name
		}
		seen[next] = true
		name = next
	}
}
