package repository

import (
	"context"
	"path/filepath"

	"triton/server/backend"
	"triton/server/infer"
	"triton/server/warmup"
)

// samples are what each new instance of a version runs first; nil for nothing.
func (r *Repository) samples(v *version) (*warmup.Plan, error) {
	return warmup.Read(warmup.Options{
		Config: v.config, Dir: filepath.Dir(v.dir), Pool: v.pool, Log: r.opts.Log,
		Check: func(r *infer.Request) error {
			r.ModelName, r.ModelVersion, r.Pool = v.model, v.text, v.pool
			return v.check.check(r)
		},
	})
}

// warmUp runs a plan on an instance, in one turn of the rate limiter.
func (v *version) warmUp(p *warmup.Plan) func(context.Context, int, backend.Placement, func([]*infer.Request)) error {
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
