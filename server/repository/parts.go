package repository

import (
	"errors"
	"fmt"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
)

func isEnsemble(c *inferencepb.ModelConfig) bool { return c.GetEnsembleScheduling() != nil }

// partsOf are the models of an ensemble's steps, by step. One that its name does
// not tell has the zero id.
func (r *Repository) partsOf(c *candidate) []modelID {
	var all []modelID
	for _, s := range c.config.GetEnsembleScheduling().GetStep() {
		all = append(all, r.partOf(c.id.space, s.GetModelName()))
	}
	return all
}

// partOf finds a model for an ensemble in a space: there, or else wherever there
// is just one.
func (r *Repository) partOf(space, name string) modelID {
	if !r.opts.Namespacing {
		return modelID{"", name}
	}
	found := r.locate(name)
	for _, f := range found {
		if f.id.space == space {
			return f.id
		}
	}
	if len(found) == 1 {
		return found[0].id
	}
	return modelID{}
}

// withParts adds the models that ensembles need, as far as they are to be loaded.
func (r *Repository) withParts(ids []modelID, candidates []*candidate) []*candidate {
	seen := map[modelID]bool{}
	var queue []modelID
	need := func(parts []modelID) {
		for _, p := range parts {
			if p.name != "" && !seen[p] {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	for _, c := range candidates {
		seen[c.id] = true
	}
	for _, c := range candidates {
		need(c.parts)
	}
	for _, id := range ids {
		need(r.knownParts(id))
	}
	for ; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		dirs := slices.DeleteFunc(r.locate(id.name), func(f *found) bool { return f.id != id })
		switch {
		case len(dirs) == 0:
			r.opts.Log.Error(fmt.Sprintf("failed to poll model '%s': model not found in any model repository.", id.name))
			continue
		case dirs[0].twice:
			r.notUnique(id.name)
			continue
		}
		more, _ := r.survey(dirs, infer.LoadOptions{})
		for _, c := range more {
			c.part = true
			candidates = append(candidates, c)
			need(c.parts)
		}
		if len(more) == 0 {
			need(r.knownParts(id))
		}
	}
	return candidates
}

// lacksEngine says that a model of a step cannot serve because nothing but the
// library of its backend is missing.
func (r *Repository) lacksEngine(c *candidate) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(c.parts, func(id modelID) bool {
		var f *failure
		n := r.graph[id]
		return n != nil && errors.As(n.err, &f) && f.engine
	})
}

// knownParts are the parts of a model that was loaded before.
func (r *Repository) knownParts(id modelID) []modelID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.graph[id]; n != nil {
		return n.model.parts
	}
	return nil
}

// fit checks an ensemble with the models of its steps as they serve now.
func (r *Repository) fit(c *candidate) ([]*version, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.circle(c); err != nil {
		return nil, err
	}
	steps := c.config.GetEnsembleScheduling().GetStep()
	for i, id := range c.parts {
		if r.graph[id] == nil && r.view.Load().named(id).newest() == nil {
			return nil, status.New(status.InvalidArg, "ensemble %s contains models that are not available or ambiguous: %s", c.id, steps[i].GetModelName())
		}
	}
	var all []*version
	for i, id := range c.parts {
		v, err := r.servingPart(c, id, steps[i].GetModelVersion())
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, first(c.config, c.config.ValidateParts(func(step int) *inferencepb.ModelConfig { return all[step].config }))
}

// servingPart is the version of a model that a step would use.
func (r *Repository) servingPart(c *candidate, id modelID, number int64) (*version, error) {
	m := r.view.Load().named(id)
	if v := m.newest(); v != nil {
		if number == -1 {
			return v, nil
		}
		if e := m.at(number); e != nil && e.state == stateReady {
			return e.version, nil
		}
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' whose required version %d is not loaded.", c.id, id, number)
	}
	n := r.graph[id]
	switch {
	case n == nil || n.err == nil:
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which has no loaded version.", c.id, id)
	case len(n.model.parts) > 0:
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which is not valid. Model '%s' failed with error: %s", c.id, id, id, n.err)
	}
	return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which has no loaded version. Model '%s' loading failed with error: %s", c.id, id, id, n.err)
}

// newest is the version that those get who name none; nil when none serves.
func (m *model) newest() *version {
	if m == nil || m.any == nil {
		return nil
	}
	return m.any.version
}
