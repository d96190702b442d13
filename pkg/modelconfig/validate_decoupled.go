package modelconfig

import (
	"fmt"

	pb "triton/pkg/inferencepb"
)

// decoupled checks that neither a step nor the response of the ensemble joins values of two
// decoupled models: they may send different numbers of responses.
func (p *composingValidator) decoupled(models []*pb.ModelConfig) {
	e := p.GetEnsembleScheduling()
	g := newTensorGraph(e)
	done := make([]bool, len(e.Step))
	for range e.Step { // each round visits at least one step
		for i, s := range e.Step {
			in := tensorsOf(s.InputMap)
			if done[i] || !p.allVisited(g, done, in) {
				continue
			}
			done[i] = true
			source, one := p.source(in)
			if !one {
				p.addMixed(fmt.Sprintf("ensemble_scheduling.step[%d]", i), p.declared[tensorsOf(s.OutputMap)[0]].model)
			}
			if models[i].GetModelTransactionPolicy().GetDecoupled() {
				source = i + 1
			}
			for _, t := range s.OutputMap {
				p.decoupledStep[t] = source
			}
		}
	}
	var out []string
	for _, o := range p.Output {
		out = append(out, o.Name)
	}
	if _, one := p.source(out); !one {
		p.addMixed("output", p.Name)
	}
}

// addMixed adds a finding about a step, or the outputs of the ensemble, that joins values of
// different decoupled models. model is the model of the step, or the ensemble.
func (p *composingValidator) addMixed(path, model string) {
	if len(p.found) == 0 {
		p.add(ruleEnsembleDecoupled, path, "join only values that come from the same decoupled step",
			"in ensemble %s, step of model '%s' receives inputs originated from different decoupled models", p.Name, model)
	}
}

// allVisited reports whether the steps that write these tensors have been visited.
func (p *composingValidator) allVisited(g *tensorGraph, done []bool, tensors []string) bool {
	for _, t := range tensors {
		if i, written := g.writer[t]; written && !done[i] {
			return false
		}
	}
	return true
}

// source returns the decoupled step that all of these tensors come from, 0 for none. It
// reports false if they differ.
func (p *composingValidator) source(tensors []string) (step int, one bool) {
	for i, t := range tensors {
		if i == 0 {
			step = p.decoupledStep[t]
		}
		if p.decoupledStep[t] != step {
			return step, false
		}
	}
	return step, true
}
