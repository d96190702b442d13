package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/ensemble"
	"triton/server/infer"
	"triton/server/stats"
)

func isEnsemble(c *inferencepb.ModelConfig) bool { return c.GetEnsembleScheduling() != nil }

// partsOf are the models of an ensemble's steps, by step. One that its name does
// not tell has the zero id.
func (r *Repository) partsOf(c *candidate) []modelID {
	var all []modelID
	for _, s := range c.config.GetEnsembleScheduling().GetStep() {
		all = append(all, r.partOf(c.id.space, s))
	}
	return all
}

func (r *Repository) partOf(space string, s *inferencepb.ModelEnsembling_Step) modelID {
	switch name := s.GetModelName(); {
	case !r.opts.Namespacing:
		return modelID{"", name}
	case s.GetModelNamespace() != "":
		return modelID{s.GetModelNamespace(), name}
	default:
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

// assemble makes a version of an ensemble. One that only follows its parts goes
// on with its counters.
func (r *Repository) assemble(v *version, c *candidate, old *version) error {
	config := modelconfig.New(c.config.File, proto.CloneOf(c.config.ModelConfig))
	if err := first(c.config, c.config.ValidateIO()); err != nil {
		return err
	}
	labels, err := readLabels(c.dir, config.ModelConfig)
	if err != nil {
		return err
	}
	var configs []*inferencepb.ModelConfig
	for i, p := range c.fits {
		configs = append(configs, p.config)
		for from, to := range config.GetEnsembleScheduling().GetStep()[i].GetOutputMap() {
			if labels[to] == nil && p.labels[from] != nil {
				labels[to] = p.labels[from]
			}
		}
	}
	config.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: modelconfig.Decoupled(configs)}
	v.config, v.labels = config.ModelConfig, labels
	v.check, v.metadata = newChecker(v.config), describe(v.config, v.text)
	if n := v.config.GetEnsembleScheduling().GetMaxInflightRequests(); n > 0 {
		r.opts.Log.Info(fmt.Sprintf("Ensemble model '%s' configured with max_inflight_requests: %d", c.id, n))
	}
	if old != nil && old.stamp.same(c.stamp) && proto.Equal(old.config, v.config) {
		v.stats = old.stats
	} else {
		v.stats = stats.New(v.config, v.text, r.opts.Stats)
	}
	numbers := c.config.GetEnsembleScheduling().GetStep()
	parts := c.parts
	v.runner, err = r.cached(v, ensemble.New(ensemble.Options{
		Config: v.config, Parts: configs, Stats: v.stats, Log: r.opts.Log,
		Find: func(step int) (infer.Model, error) { return r.takePart(parts[step], numbers[step].GetModelVersion()) },
	}))
	return err
}

// takePart takes a reference to the model of a step.
func (r *Repository) takePart(id modelID, number int64) (infer.Model, error) {
	for {
		now := r.view.Load()
		m := now.named(id)
		v := m.newest()
		if number != -1 && v != nil {
			v = nil
			if e := m.at(number); e != nil && e.state == stateReady {
				v = e.version
			}
		}
		if v != nil && v.acquire() {
			return part{v}, nil
		}
		if r.view.Load() == now {
			return nil, notFound("Request for unknown model: '%s' has no available versions", id)
		}
	}
}

// part is a version as an ensemble uses it: what was begun is finished, also
// while the server ends.
type part struct{ *version }

// Infer checks and runs the request of a step.
func (p part) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if err := p.admit(r, true); err != nil {
		r.Release()
		return nil, err
	}
	return p.runner.Infer(ctx, r)
}

// Submit checks and queues the request of a step.
func (p part) Submit(r *infer.Request) error { return p.submit(r, true) }
