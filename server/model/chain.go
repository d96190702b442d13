package model

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/admission"
	"triton/server/backend"
	"triton/server/cache"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/lengthbucket"
	"triton/server/ratelimit"
	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
	"triton/server/scheduler/sequence"
	implicit "triton/server/scheduler/state"
	"triton/server/warmup"
)

// serve makes the chain that a request of a version with an engine passes, and
// starts its instances. After an error the engine is closed.
//
//	request -> cache -> length buckets -> admission -> queue or sequences -> instances
func (b *Builder) serve(ctx context.Context, v *Loaded, placements []backend.Placement) error {
	run, passive := split(placements)
	err := b.stack(ctx, v, run, passive)
	if err != nil {
		v.samples.Close()
		b.unlimit(v)
	}
	return err
}

func (b *Builder) stack(ctx context.Context, v *Loaded, run, passive []backend.Placement) error {
	fail := func(err error) error { return errors.Join(err, v.engine.Close()) }
	if err := b.limit(v, run); err != nil {
		return fail(err)
	}
	var err error
	if v.samples, err = b.samples(v); err != nil {
		return fail(err)
	}
	source, seats, err := b.source(v, len(run))
	if err != nil {
		return fail(err)
	}
	v.group = instance.New(instance.Options{
		Name: v.model, Version: v.text, Config: v.config, Model: v.engine, Placements: run, Passive: passive,
		Source: source, Seats: seats, WarmUp: v.warmUp(v.samples), Observer: v.observer, Stats: v.stats, Log: v.log,
	})
	v.runner = v.group
	if v.estimate != nil {
		v.runner = admission.New(v.runner, v.estimate, v.line, v.stats)
	}
	if l := v.beyond.Lengths; l != nil {
		v.runner = lengthbucket.New(v.runner, l, v.config.GetMaxBatchSize() > 0, v.pool)
	}
	if err := v.group.Start(ctx); err != nil {
		return err
	}
	if v.runner, err = b.cached(v, v.runner); err != nil {
		return errors.Join(err, v.group.Drain(ctx))
	}
	return nil
}

// split tells the instances that run from the passive ones.
func split(placements []backend.Placement) (run, passive []backend.Placement) {
	idle := func(p backend.Placement) bool { return p.Group.GetPassive() }
	for _, p := range placements {
		if idle(p) {
			passive = append(passive, p)
		}
	}
	return slices.DeleteFunc(slices.Clone(placements), idle), passive
}

// limit makes the instances of a version take turns with all others, if this
// server limits rates.
func (b *Builder) limit(v *Loaded, placements []backend.Placement) (err error) {
	if b.opts.Limiter == nil {
		return nil
	}
	all := make([]ratelimit.Instance, len(placements))
	for i, at := range placements {
		limit := at.Group.GetRateLimiter()
		all[i] = ratelimit.Instance{Device: at.Device, Priority: limit.GetPriority()}
		for _, n := range limit.GetResources() {
			all[i].Needs = append(all[i].Needs, ratelimit.Need{Name: n.GetName(), Count: uint64(n.GetCount()), Global: n.GetGlobal()})
		}
	}
	v.gate, err = b.opts.Limiter.Add(all)
	b.logResources()
	return err
}

// unlimit gives a version's resources up, once its instances are closed.
func (b *Builder) unlimit(v *Loaded) {
	if v.gate != nil {
		v.gate.Close()
		b.logResources()
	}
}

// logResources writes how much there is of each resource now.
func (b *Builder) logResources() {
	if l := log.Verbose(1); b.opts.Limiter != nil && b.opts.Log.Enabled(context.Background(), l) {
		b.opts.Log.Log(context.Background(), l, b.opts.Limiter.String())
	}
}

// turns returns the version's gate; nil when it has none.
func (v *Loaded) turns() scheduler.Gate {
	if v.gate == nil {
		return nil
	}
	return v.gate
}

// samples reads what each new instance of a version runs first; nil for nothing.
func (b *Builder) samples(v *Loaded) (*warmup.Plan, error) {
	return warmup.Read(warmup.Options{
		Config: v.config, Dir: filepath.Dir(v.dir), Pool: v.pool, Log: v.log,
		Check: func(r *infer.Request) error {
			r.ModelName, r.ModelVersion, r.Pool = v.model, v.text, v.pool
			return v.check.Check(r)
		},
	})
}

// warmUp runs a plan on an instance, in one turn of the rate limiter. Instances that
// take the place of broken ones run it too.
func (v *Loaded) warmUp(p *warmup.Plan) func(context.Context, int, backend.Placement, func([]*infer.Request)) error {
	if p == nil {
		return nil
	}
	return func(ctx context.Context, seat int, at backend.Placement, run func([]*infer.Request)) error {
		if v.gate != nil {
			if err := v.gate.Wait(ctx, seat); err != nil {
				return err
			}
			defer v.gate.Release(seat, false) // a new gate has counted it
		}
		return p.Run(ctx, at, run)
	}
}

// source makes the scheduler that a version's configuration asks for, with a seat
// for each of n instances.
func (b *Builder) source(v *Loaded, n int) (scheduler.Source, []*scheduler.Seat, error) {
	if v.config.GetSequenceBatching() != nil {
		return b.sequences(v, n)
	}
	d := v.config.GetDynamicBatching()
	o := scheduler.Options{
		Policy: scheduler.Direct{}, Rules: scheduler.RulesOf(v.config), Ordered: d.GetPreserveOrdering(),
		Seats: n, Stats: v.stats, Gate: v.turns(),
	}
	if d != nil {
		o.Hold = b.opts.Holds.Requests
	}
	if d != nil && v.config.GetMaxBatchSize() > 0 {
		o.Policy = dynamic.New(v.config)
		if d.GetMaxQueueDelayMicroseconds() > 0 || v.beyond.Delay != nil {
			o.Alarm = b.opts.NewAlarm()
		}
	}
	q, seats := scheduler.NewQueue(o)
	v.learn(o.Policy, q, n)
	return q, seats, nil
}

// sequences makes the scheduler of a version that keeps sequences.
func (b *Builder) sequences(v *Loaded, n int) (scheduler.Source, []*scheduler.Seat, error) {
	o := sequence.Options{
		Config: v.config, Seats: n, Stats: v.stats, Log: v.log, Pool: v.pool, Gate: v.turns(),
		Hold: b.opts.Holds.Requests, Backlog: b.opts.Holds.Backlog,
		Before: v.sequences,
	}
	states, err := implicit.New(implicit.Options{Config: v.config, Dir: filepath.Dir(v.dir), Pool: v.pool, Log: v.log})
	if err != nil {
		return nil, nil, err
	}
	if states != nil {
		o.Memory = states
	}
	if sequence.Delays(v.config) {
		o.Alarm = b.opts.NewAlarm
	}
	q, seats, err := sequence.New(o)
	if err != nil {
		if states != nil {
			states.Close()
		}
		return nil, nil, err
	}
	v.sequences = q
	return q, seats, nil
}

// singleFlight is the parameter of a model's configuration that makes equal
// requests wait for the one that is computed.
const singleFlight = "response_cache_single_flight"

// cached puts the response cache in front of a version's runner, if the server
// has one and the model asks for it. The engine has read the model's files.
func (b *Builder) cached(v *Loaded, next infer.Runner) (infer.Runner, error) {
	if b.opts.Cache == nil || !v.config.GetResponseCache().GetEnable() {
		return next, nil
	}
	if v.config.GetModelTransactionPolicy().GetDecoupled() { // known of ensembles only now
		return nil, status.New(status.InvalidArg,
			"Response Cache does not currently support model %s with 'decoupled' transaction policy. Please disable the response cache.", v.model)
	}
	scope := v.fingerprint.Text()
	if why := v.fingerprint.Random(); why != nil {
		v.log.Warn("cached responses of this load will not be found by any other", "model", v.label, "version", v.number, "reason", why)
	}
	return cache.New(next, cache.Options{
		Cache: b.opts.Cache, Scope: scope, Steady: v.steady, Pool: v.pool, Stats: v.stats, Log: v.log,
		SingleFlight: v.config.GetParameters()[singleFlight].GetStringValue() == "true",
		Ordered:      v.config.GetDynamicBatching().GetPreserveOrdering(),
	}), nil
}
