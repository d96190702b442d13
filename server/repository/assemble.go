package repository

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/ensemble"
	"triton/server/infer"
	"triton/server/stats"
)

// assemble makes a version of an ensemble. One that only follows its parts goes
// on with its counters.
func (r *Repository) assemble(v *version, c *candidate, old *version) error {
	config := modelconfig.New(c.config.File, proto.CloneOf(c.config.ModelConfig))
	if err := first(c.config, c.config.ValidateIO()); err != nil {
		return err
	}
	if _, err := asked(c.config); err != nil { // an ensemble can have none of it
		return err
	}
	labels, err := readLabels(c.dir, config.ModelConfig)
	if err != nil {
		return err
	}
	configs := c.parted(labels)
	for i, s := range config.GetEnsembleScheduling().GetStep() {
		s.ModelNamespace = c.parts[i].space
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
	v.parts = c.fits
	v.runner, err = r.cached(v, ensemble.New(ensemble.Options{
		Config: v.config, Parts: configs, Stats: v.stats, Log: r.opts.Log,
		Find: func(step int) (ensemble.Part, error) {
			p, err := r.takePart(parts[step], numbers[step].GetModelVersion())
			if err != nil {
				return nil, err
			}
			v.met(step, p)
			return part{p}, nil
		},
	}))
	return err
}

// parted are the configurations of the models of the steps. An output without
// class names of its own gets those of the model that makes it.
func (c *candidate) parted(labels map[string][]string) []*inferencepb.ModelConfig {
	var all []*inferencepb.ModelConfig
	for i, p := range c.fits {
		all = append(all, p.config)
		for from, to := range c.config.GetEnsembleScheduling().GetStep()[i].GetOutputMap() {
			if labels[to] == nil && p.labels[from] != nil {
				labels[to] = p.labels[from]
			}
		}
	}
	return all
}

// takePart takes a reference to the model of a step.
func (r *Repository) takePart(id modelID, number int64) (*version, error) {
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
			return v, nil
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

// Ready says whether the version has instances that work.
func (p part) Ready() bool { return p.runner.Ready() }

// Submit checks and queues the request of a step.
func (p part) Submit(r *infer.Request) error { return p.submit(r, true) }
