package modelconfig

import (
	"cmp"
	"fmt"
	"slices"

	pb "triton/pkg/inferencepb"
)

// decoupled checks that neither a step nor the response of the ensemble joins values of two
// decoupled models: they may send different numbers of responses.
func (p *composingValidator) decoupled(models []*pb.ModelConfig) {
	e := p.GetEnsembleScheduling()
	g := newTensorGraph(e)
	for _, i := range g.order() {
		s := e.Step[i]
		source, one := p.source(tensorsOf(s.InputMap))
		if !one {
			p.addMixed(fmt.Sprintf("ensemble_scheduling.step[%d]", i), p.declared[tensorsOf(s.OutputMap)[0]].model)
		}
		if models[i].Decoupled() {
			source = i + 1
		}
		for _, t := range s.OutputMap {
			p.decoupledStep[t] = source
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

// order returns the steps that are not part of a cycle or behind one, each behind the steps that write its
// inputs: in rounds over all steps, each round with the steps whose inputs are written by then.
func (g *tensorGraph) order() []int {
	round, missing := make([]int, len(g.steps)), make([]int, len(g.steps))
	var order []int // first in an order that only respects the tensors
	for i, s := range g.steps {
		for _, t := range tensorsOf(s.InputMap) {
			if _, written := g.writer[t]; written {
				missing[i]++
			}
		}
		if missing[i] == 0 {
			order = append(order, i)
		}
	}
	for next := 0; next < len(order); next++ {
		i := order[next]
		for _, t := range g.steps[i].OutputMap {
			for _, reader := range g.readers[t] {
				after := round[i]
				if reader < i {
					after++
				}
				round[reader] = max(round[reader], after)
				if missing[reader]--; missing[reader] == 0 {
					order = append(order, reader)
				}
			}
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(round[a], round[b]), cmp.Compare(a, b)) })
	return order
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
