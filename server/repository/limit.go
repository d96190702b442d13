package repository

import (
	"context"
	"slices"

	"triton/pkg/log"
	"triton/server/backend"
	"triton/server/ratelimit"
	"triton/server/scheduler"
)

// limit makes the instances of a version take turns with all others, if this
// server limits rates.
func (r *Repository) limit(v *version, placements []backend.Placement) (err error) {
	if r.opts.Limiter == nil {
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
	v.gate, err = r.opts.Limiter.Add(all)
	r.logResources()
	return err
}

// logResources writes how much there is of each resource now.
func (r *Repository) logResources() {
	if l := log.Verbose(1); r.opts.Limiter != nil && r.opts.Log.Enabled(context.Background(), l) {
		r.opts.Log.Log(context.Background(), l, r.opts.Limiter.String())
	}
}

// turns is the version's gate; nil when it has none.
func (v *version) turns() scheduler.Gate {
	if v.gate == nil {
		return nil
	}
	return v.gate
}

// unlimit gives a version's resources up, once its instances are closed.
func (r *Repository) unlimit(v *version) {
	if v.gate != nil {
		v.gate.Close()
		r.logResources()
	}
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
