package model

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"triton/server/backend"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/sequence"
)

// startChain makes the runner chain of a version that has a backend model, and starts the
// instances. After an error the backend model is closed. A request passes the runners in
// this order:
//
//	request -> cache -> length buckets -> admission -> queue or sequences -> instances
//
// loadEnsemble makes the chain of an ensemble: cache -> ensemble.
func (b *Builder) startChain(ctx context.Context, v *LoadedVersion, m backend.Model, placements []backend.Placement) error {
	run, passive := split(placements)
	err := b.buildChain(ctx, v, m, run, passive)
	if err != nil {
		v.samples.Close()
		b.removeFromLimiter(v)
	}
	return err
}

// buildChain makes the chain from its end, the instances, to its beginning.
func (b *Builder) buildChain(ctx context.Context, v *LoadedVersion, m backend.Model, run, passive []backend.Placement) error {
	fail := func(err error) error { return errors.Join(err, m.Close()) }
	if err := b.addToLimiter(v, run); err != nil {
		return fail(err)
	}
	var err error
	if v.samples, err = b.samples(v); err != nil {
		return fail(err)
	}
	source, slots, err := b.newScheduler(v, len(run))
	if err != nil {
		return fail(err)
	}
	v.group = instance.New(instance.Options{
		Name: v.model, Version: v.versionText, Config: v.config, Model: m, Placements: run, Passive: passive,
		Source: source, Slots: slots, WarmUp: v.warmUp(v.samples), Observer: v.observer, Stats: v.stats, Log: v.log,
		Occupy: b.occupy(v.running), Vacate: b.vacate(v.running),
	})
	v.runner = v.group
	if v.estimate != nil {
		v.runner = newAdmission(v.runner, v.estimate, v.queue, v.stats)
	}
	if l := v.extensions.Lengths; l != nil {
		v.runner = newLengthRunner(v.runner, l, v.config.GetMaxBatchSize() > 0, v.pool)
	}
	if err := v.group.Start(ctx); err != nil {
		return err
	}
	// After Start: the fingerprint of the cache needs the files as the backend has read them.
	if v.runner, err = b.cached(v, v.runner); err != nil {
		return errors.Join(err, v.group.Drain(ctx))
	}
	return nil
}

// split separates the instances that run from the passive ones.
func split(placements []backend.Placement) (run, passive []backend.Placement) {
	idle := func(p backend.Placement) bool { return p.Group.GetPassive() }
	for _, p := range placements {
		if idle(p) {
			passive = append(passive, p)
		}
	}
	return slices.DeleteFunc(slices.Clone(placements), idle), passive
}

// newScheduler makes the scheduler of a version, with a slot for each of n instances.
func (b *Builder) newScheduler(v *LoadedVersion, n int) (scheduler.Source, []*scheduler.Slot, error) {
	if v.config.GetSequenceBatching() != nil {
		return b.newSequenceScheduler(v, n)
	}
	d := v.config.GetDynamicBatching()
	o := scheduler.Options{
		Policy: scheduler.NoBatching{}, Rules: v.queueRules(), Ordered: d.GetPreserveOrdering(),
		Slots: n, Stats: v.stats, Gate: v.schedulerGate(),
	}
	if d != nil {
		o.HoldUntil = b.opts.Holds.Requests
	}
	if d != nil && v.config.GetMaxBatchSize() > 0 {
		p := scheduler.NewDynamicBatching(v.config)
		if v.strategy != nil {
			p.SetStrategy(v.strategy)
		}
		o.Policy = p
		if d.GetMaxQueueDelayMicroseconds() > 0 || v.extensions.Delay != nil {
			o.Alarm = b.opts.NewAlarm()
		}
	}
	q, slots := scheduler.NewQueue(o)
	v.setObservers(o.Policy, q, n)
	return q, slots, nil
}

// newSequenceScheduler makes the scheduler of a version with sequence batching.
func (b *Builder) newSequenceScheduler(v *LoadedVersion, n int) (scheduler.Source, []*scheduler.Slot, error) {
	o := sequence.Options{
		Config: v.config, Slots: n, Stats: v.stats, Log: v.log, Pool: v.pool, Gate: v.schedulerGate(),
		HoldSlots: b.opts.Holds.Requests, HoldBacklog: b.opts.Holds.Backlog,
	}
	var err error
	if o.States, err = sequence.NewImplicitStates(sequence.StateOptions{Config: v.config, Dir: filepath.Dir(v.dir), Pool: v.pool, Log: v.log}); err != nil {
		return nil, nil, err
	}
	if sequence.HasQueueDelay(v.config) {
		o.Alarm = b.opts.NewAlarm
	}
	q, slots, err := sequence.New(o)
	if err != nil {
		if o.States != nil {
			o.States.Close()
		}
		return nil, nil, err
	}
	v.sequences = q
	return q, slots, nil
}
