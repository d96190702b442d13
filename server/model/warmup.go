package model

import (
	"context"
	"path/filepath"
	"time"

	"triton/server/backend"
	"triton/server/infer"
)

// samples reads the requests that each new instance of a version runs first; nil: none.
func (b *Builder) samples(v *LoadedVersion) (*warmUpPlan, error) {
	return readWarmUp(warmUpOptions{
		Config: v.extensions.RequestConfig(v.config), Dir: filepath.Dir(v.dir), Pool: v.pool, Log: v.log,
		Check: func(r *infer.Request) error {
			r.ModelName, r.ModelVersion, r.Pool = v.model, v.versionText, v.pool
			return v.check.Check(r)
		},
	})
}

// warmUp returns a function that runs a plan on a new instance, also on one that replaces a
// broken instance, under one grant of the rate limiter.
func (v *LoadedVersion) warmUp(p *warmUpPlan) func(context.Context, int, backend.Placement, func([]*infer.Request)) error {
	if p == nil {
		return nil
	}
	return func(ctx context.Context, slot int, at backend.Placement, run func([]*infer.Request)) error {
		if v.gate != nil {
			if err := v.gate.Wait(ctx, slot); err != nil {
				return err
			}
			defer v.gate.Release(slot, false) // false: the grant of a warm-up does not count as a run
		}
		begin := time.Now()
		defer func() { v.longestWarmUp(time.Since(begin)) }()
		return p.Run(ctx, at, run)
	}
}

// longestWarmUp keeps the longest of the warm-ups, which run at the same time.
func (v *LoadedVersion) longestWarmUp(d time.Duration) {
	for {
		before := v.warmUpTime.Load()
		if int64(d) <= before || v.warmUpTime.CompareAndSwap(before, int64(d)) {
			return
		}
	}
}
