package model

import (
	"context"

	"triton/server/infer"
	"triton/server/scheduler"
)

// Infer checks and runs a request.
func (v *LoadedVersion) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	return v.infer(ctx, r, false)
}

// Submit checks and queues a request.
func (v *LoadedVersion) Submit(r *infer.Request) error { return v.submit(r, false) }

// Infer checks and runs the request of a step.
func (s Step) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	return s.infer(ctx, r, true)
}

// Submit checks and queues the request of a step.
func (s Step) Submit(r *infer.Request) error { return s.submit(r, true) }

func (v *LoadedVersion) infer(ctx context.Context, r *infer.Request, step bool) (*infer.Response, error) {
	if err := v.checkSafely(r, step); err != nil {
		r.Release()
		return nil, err
	}
	return v.runner.Infer(ctx, r)
}

func (v *LoadedVersion) submit(r *infer.Request, step bool) error {
	err := v.checkSafely(r, step)
	if err == nil {
		err = v.runner.Submit(r)
	}
	if err != nil {
		r.Release()
	}
	return err
}

// checkSafely returns an error for a request that cannot run. If the check panics, checkSafely releases the
// core's reference to the request. Requests of steps run during a drain too.
func (v *LoadedVersion) checkSafely(r *infer.Request, step bool) error {
	returned := false
	defer func() {
		if !returned {
			r.Release()
		}
	}()
	err := v.checkRequest(r, step)
	returned = true
	return err
}

func (v *LoadedVersion) checkRequest(r *infer.Request, step bool) error {
	if !step && v.stopped.Load() {
		return scheduler.ErrStopping(r)
	}
	r.ModelName, r.ModelVersion, r.Pool, r.Log = v.model, v.versionText, v.pool, v.log
	if err := v.check.Check(r); err != nil {
		return err
	}
	r.EmitReceived()
	return nil
}
