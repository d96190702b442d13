package repository

import (
	"path/filepath"

	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
	"triton/server/scheduler/sequence"
	implicit "triton/server/scheduler/state"
)

// source is the scheduler that a version's configuration asks for, with a seat
// for each of n instances.
func (r *Repository) source(v *version, n int) (scheduler.Source, []*scheduler.Seat, error) {
	if v.config.GetSequenceBatching() != nil {
		return r.sequences(v, n)
	}
	d := v.config.GetDynamicBatching()
	o := scheduler.Options{
		Policy: scheduler.Direct{}, Rules: scheduler.RulesOf(v.config), Ordered: d.GetPreserveOrdering(),
		Seats: n, Stats: v.stats, Gate: v.turns(),
	}
	if d != nil {
		o.Hold = r.opts.Holds.Requests
	}
	if d != nil && v.config.GetMaxBatchSize() > 0 {
		o.Policy = dynamic.New(v.config)
		if d.GetMaxQueueDelayMicroseconds() > 0 || v.beyond.Delay != nil {
			o.Alarm = r.opts.NewAlarm()
		}
	}
	q, seats := scheduler.NewQueue(o)
	v.learn(o.Policy, q, n)
	return q, seats, nil
}

// sequences is the scheduler of a version that keeps sequences.
func (r *Repository) sequences(v *version, n int) (scheduler.Source, []*scheduler.Seat, error) {
	o := sequence.Options{
		Config: v.config, Seats: n, Stats: v.stats, Log: r.opts.Log, Pool: r.opts.Pool, Gate: v.turns(),
		Hold: r.opts.Holds.Requests, Backlog: r.opts.Holds.Backlog,
		Before: v.sequences,
	}
	states, err := implicit.New(implicit.Options{Config: v.config, Dir: filepath.Dir(v.dir), Pool: r.opts.Pool, Log: r.opts.Log})
	if err != nil {
		return nil, nil, err
	}
	if states != nil {
		o.Memory = states
	}
	if sequence.Delays(v.config) {
		o.Alarm = r.opts.NewAlarm
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
