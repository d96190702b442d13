package repository

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Exit tells everybody who asks that the server is about to end. Requests are
// still served.
func (r *Repository) Exit() { r.phase.Store(exiting) }

// Drain refuses new requests, waits for those accepted, and closes every model.
// When ctx ends first the error says so and models may be left running; after
// it the repository only answers that it ends. Drain may be called again.
func (r *Repository) Drain(ctx context.Context) error {
	r.Exit()
	var open []*version
	for _, m := range r.view.Load().models {
		for _, v := range m.versions {
			if v.state == stateReady {
				open = append(open, v)
			}
		}
	}
	done := make(chan error, len(open))
	for _, v := range open {
		r.wg.Go(func() { done <- r.closeVersion(ctx, v) })
	}
	return r.await(ctx, open, done)
}

// await collects the closed versions and says every second what is missing.
func (r *Repository) await(ctx context.Context, open []*version, done <-chan error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var errs []error
	for left := len(open); left > 0; {
		select {
		case err := <-done:
			errs = append(errs, err)
			left--
		case <-tick.C:
			r.report(ctx, open)
		}
	}
	r.wg.Wait()
	return errors.Join(errs...)
}

func (r *Repository) report(ctx context.Context, open []*version) {
	seconds := 0
	if at, ok := ctx.Deadline(); ok {
		seconds = max(int(time.Until(at).Seconds()), 0)
	}
	busy := 0
	for _, v := range open {
		if v.inFlight() > 0 {
			busy++
		}
	}
	r.opts.Log.Info(fmt.Sprintf("Timeout %d: Found %d model versions that have in-flight inferences", seconds, busy))
	for _, v := range open {
		if n := v.inFlight(); n > 0 {
			r.opts.Log.Info(fmt.Sprintf("Model '%s' (version %d) has %d in-flight inferences", v.model, v.number, n))
		}
	}
}

// closeVersion gives up the repository's reference, waits for the requests'
// ones and closes the instances and the model.
func (r *Repository) closeVersion(ctx context.Context, v *version) error {
	if !v.closing.Swap(true) {
		v.Release()
	}
	select {
	case <-v.drained:
	case <-ctx.Done():
	}
	if err := v.group.Drain(ctx); err != nil {
		return fmt.Errorf("unloading '%s' version %d: %w", v.model, v.number, err)
	}
	r.opts.Log.Info(fmt.Sprintf("successfully unloaded '%s' version %d", v.model, v.number))
	return nil
}
