package search

import (
	"fmt"
	"maps"
	"math"

	"triton/analyzer/trial"
)

// climbPart is a model with the dimensions that are its own.
type climbPart struct {
	Model
	fixed     trial.Patch // the user's other parameters
	first     int         // index of its first dimension
	dims      []dimension
	composing []climbPart
}

// climbPartsOf returns the models and all their dimensions: of each model, then of its composing models.
func climbPartsOf(s Space) ([]climbPart, []dimension, error) {
	var parts []climbPart
	var all []dimension
	add := func(m Model, composing bool) (climbPart, error) {
		fixed, err := m.Fixed(false)
		if err != nil {
			return climbPart{}, err
		}
		p := climbPart{Model: m, fixed: fixed, first: len(all)}
		if !m.Ensemble {
			if p.dims, err = dimensionsOf(s, m, composing); err != nil {
				return climbPart{}, err
			}
			all = append(all, p.dims...)
		}
		return p, nil
	}
	for _, m := range s.Models {
		p, err := add(m, false)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range m.Composing {
			cp, err := add(c, true)
			if err != nil {
				return nil, nil, err
			}
			p.composing = append(p.composing, cp)
		}
		parts = append(parts, p)
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("model %q has nothing that quick search can vary: an ensemble needs its composing models", s.Models[0].Name)
	}
	return parts, all, nil
}

// values returns the instance count and the largest batch of a model at a coordinate. The largest
// batch is 0 for models that do not batch.
func (p climbPart) values(at coordinate) (instances, maxBatch int) {
	for i, d := range p.dims {
		if d.batch {
			maxBatch = d.value(at[p.first+i])
		} else {
			instances = d.value(at[p.first+i])
		}
	}
	return instances, maxBatch
}

func (p climbPart) member(at coordinate) trial.ProposedMember {
	instances, maxBatch := p.values(at)
	return trial.ProposedMember{Model: p.Name, Patch: p.Patch(p.fixed, instances, maxBatch)}
}

// proposal returns the proposal of a coordinate.
func (c *climb) proposal(at coordinate) trial.Proposal {
	var out trial.Proposal
	for _, p := range c.parts {
		m := trial.ProposedMember{Model: p.Name, Load: c.load(p, at)}
		if p.Ensemble {
			m.Patch = p.ensemblePatch(at)
		} else {
			m = p.member(at)
			m.Load = c.load(p, at)
		}
		for _, part := range p.composing {
			m.Composing = append(m.Composing, part.member(at))
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// ensemblePatch lets an ensemble take the batches that all its models take.
func (p climbPart) ensemblePatch(at coordinate) trial.Patch {
	smallest := math.MaxInt
	for _, c := range p.composing {
		_, b := c.values(at)
		smallest = min(smallest, max(b, 1))
	}
	patch := maps.Clone(p.fixed)
	if p.Batching() && len(p.composing) > 0 {
		patch["max_batch_size"] = smallest
	}
	return patch
}

// load returns the load of a model: two full batches for each instance. Of a model with composing
// models, the one that takes the least decides.
func (c *climb) load(p climbPart, at coordinate) trial.Load {
	least := math.MaxInt
	for _, part := range append([]climbPart{p}, p.composing...) {
		if len(part.dims) > 0 {
			k, b := part.values(at)
			least = min(least, k*max(b, 1))
		}
	}
	if least == math.MaxInt {
		least = 1
	}
	return c.Space.DefaultLoad(p.Model, least, 1)
}

// defaults returns the user's configuration of every model.
func (c *climb) defaults() trial.Proposal {
	var out trial.Proposal
	for _, p := range c.parts {
		out.Members = append(out.Members, p.Default(c.Space.DefaultLoad(p.Model, p.Instances, p.MaxBatch)))
	}
	return out
}
