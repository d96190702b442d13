package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/server/model"
)

// Exit makes the server answer that it is exiting. Requests are still served.
func (r *Repository) Exit() { r.phase.Store(exiting) }

// Drain refuses new requests, waits for the accepted ones, and closes every version. It
// first ends the operations under way. If ctx ends first, Drain returns an error and versions
// may be left running. Drain may be called again.
func (r *Repository) Drain(ctx context.Context) error {
	r.Exit()
	r.end()
	errs := []error{r.endDemand(ctx)}
	select {
	case <-r.tasks.close():
		r.mu.Lock()
		r.desired.Clear()
		r.mu.Unlock()
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("models are still being loaded: %w", context.Cause(ctx)))
	}
	open := r.openVersions()
	r.finishCallers(ctx, open)
	done := make(chan error, len(open))
	for _, v := range open {
		go func() { done <- r.closeVersion(ctx, v) }()
	}
	errs = append(errs, r.waitClosed(ctx, open, done)...)
	if r.paths != nil {
		errs = append(errs, r.paths.Close())
	}
	return errors.Join(append(errs, r.scratch.Remove())...)
}

// finishCallers refuses new requests and waits until the versions that call other models are
// idle, so that their requests find those models. A call may outlast the request that it was
// made for, so all callers have to be idle at the same moment. The wait ends with ctx.
func (r *Repository) finishCallers(ctx context.Context, open []*model.LoadedVersion) {
	idle := make(chan struct{}, 1)
	for _, v := range open {
		v.Stop(func() {
			select {
			case idle <- struct{}{}:
			default: // the loop below checks anyway
			}
		})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !model.Idle(callers(open)) {
		select {
		case <-idle:
		case <-tick.C:
			r.logInFlight(ctx, open)
		case <-ctx.Done():
			return
		}
	}
}

// callers returns the versions that have requested access to other models.
func callers(open []*model.LoadedVersion) []*model.LoadedVersion {
	var all []*model.LoadedVersion
	for _, v := range open {
		if v.CallsModels() || v.Ensemble() {
			all = append(all, v)
		}
	}
	return all
}

// waitClosed collects the results of closing versions, and logs every second what they wait
// for. At the first tick after the end of ctx it gives up, because a backend hangs.
func (r *Repository) waitClosed(ctx context.Context, open []*model.LoadedVersion, done <-chan error) []error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var errs []error
	for left := len(open); left > 0; {
		select {
		case err := <-done:
			errs = append(errs, err)
			left--
		case <-tick.C:
			if ctx.Err() != nil {
				return append(errs, fmt.Errorf("%d model versions are still running: %w", left, context.Cause(ctx)))
			}
			r.logInFlight(ctx, open)
		}
	}
	return errs
}

// logInFlight logs which versions have requests in flight.
func (r *Repository) logInFlight(ctx context.Context, open []*model.LoadedVersion) {
	seconds := 0
	if at, ok := ctx.Deadline(); ok {
		seconds = max(int(time.Until(at).Round(time.Second).Seconds()), 0)
	}
	busy := 0
	for _, v := range open {
		if v.InFlight() > 0 {
			busy++
		}
	}
	r.opts.Log.Info(fmt.Sprintf("Timeout %d: Found %d model versions that have in-flight inferences", seconds, busy))
	for _, v := range open {
		if n := v.InFlight(); n > 0 {
			r.opts.Log.Info(fmt.Sprintf("Model '%s' (version %d) has %d in-flight inferences", v.Label(), v.Number(), n))
		}
	}
}
