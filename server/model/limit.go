package model

import (
	"context"

	"triton/pkg/log"
	"triton/server/backend"
	"triton/server/scheduler"
)

// addToLimiter makes the instances of a version wait for the resources that they share with
// other instances, if the server has a rate limiter.
func (b *Builder) addToLimiter(v *LoadedVersion, placements []backend.Placement) (err error) {
	if b.opts.Limiter == nil {
		return nil
	}
	all := make([]scheduler.LimitedInstance, len(placements))
	for i, at := range placements {
		all[i] = limited(at)
	}
	v.gate, err = b.opts.Limiter.Add(all)
	b.logResources()
	return err
}

// limited describes an instance to the rate limiter.
func limited(at backend.Placement) scheduler.LimitedInstance {
	limit := at.Group.GetRateLimiter()
	in := scheduler.LimitedInstance{Device: at.Device, Priority: limit.GetPriority()}
	for _, n := range limit.GetResources() {
		in.Needs = append(in.Needs, scheduler.ResourceNeed{Name: n.GetName(), Count: uint64(n.GetCount()), Global: n.GetGlobal()})
	}
	return in
}

// removeFromLimiter releases a version's resources, once its instances are closed.
func (b *Builder) removeFromLimiter(v *LoadedVersion) {
	if v.gate != nil {
		v.gate.Close()
		b.logResources()
	}
}

// logResources logs the amount of each resource.
func (b *Builder) logResources() {
	if l := log.Verbose(1); b.opts.Limiter != nil && b.opts.Log.Enabled(context.Background(), l) {
		b.opts.Log.Log(context.Background(), l, b.opts.Limiter.String())
	}
}

// schedulerGate returns the version's gate for its scheduler: a nil interface when it has
// none.
func (v *LoadedVersion) schedulerGate() scheduler.Gate {
	if v.gate == nil {
		return nil
	}
	return v.gate
}
