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
// Loads under way are ended first. When ctx ends first the error says so and
// models may be left running; after it the repository only answers that it
// ends. Drain may be called again.
func (r *Repository) Drain(ctx context.Context) error {
	r.Exit()
	r.end()
	var errs []error
	select {
	case <-r.tasks.close():
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("models are still being loaded: %w", context.Cause(ctx)))
	}
	open := r.open()
	done := make(chan error, len(open))
	for _, v := range open {
		v.closing.Store(true)
		go func() { done <- r.close(ctx, v) }()
	}
	errs = append(errs, r.await(ctx, open, done)...)
	return errors.Join(append(errs, r.scratch.remove())...)
}

// open is the versions that are not closed.
func (r *Repository) open() []*version {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*version
	for _, m := range r.view.Load().order {
		for _, e := range m.entries {
			if e.state == stateReady {
				all = append(all, e.version)
			}
		}
	}
	for v := range r.retiring {
		all = append(all, v)
	}
	return all
}

// await collects the closed versions and looks every second what is missing. It
// says so, or gives up once ctx has ended: then an engine hangs.
func (r *Repository) await(ctx context.Context, open []*version, done <-chan error) []error {
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
				return append(errs, fmt.Errorf("%d model versions do not end: %w", left, context.Cause(ctx)))
			}
			r.report(ctx, open)
		}
	}
	return errs
}

func (r *Repository) report(ctx context.Context, open []*version) {
	seconds := 0
	if at, ok := ctx.Deadline(); ok {
		seconds = max(int(time.Until(at).Round(time.Second).Seconds()), 0)
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
			r.opts.Log.Info(fmt.Sprintf("Model '%s' (version %d) has %d in-flight inferences", v.label, v.number, n))
		}
	}
}

// retire closes a version that is in no view any more, once its requests have
// ended. It does not wait.
func (r *Repository) retire(id modelID, v *version) {
	r.mu.Lock()
	r.retiring[v] = id
	r.mu.Unlock()
	v.leave()
	if !r.tasks.begin() {
		return // a drain closes it
	}
	go func() {
		defer r.tasks.done()
		select {
		case <-v.drained:
			if err := r.close(r.life, v); err != nil && r.life.Err() == nil {
				r.opts.Log.Error("closing a model version", "model", v.label, "version", v.number, "error", err)
			}
		case <-r.life.Done(): // a drain closes it
		}
	}()
}

// close gives up the repository's reference, waits for the requests' ones and
// closes the instances and the model.
func (r *Repository) close(ctx context.Context, v *version) error {
	v.leave()
	select {
	case <-v.drained:
	case <-ctx.Done():
	}
	v.settle(ctx)
	if v.sequences != nil && !v.replaced {
		v.sequences.CloseBefore()
	}
	err := v.runner.Drain(ctx)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("unloading '%s' version %d: %w", v.label, v.number, err)
	}
	if !v.closed.Swap(true) {
		r.giveBack(v)
	}
	r.mu.Lock()
	id, retiring := r.retiring[v]
	delete(r.retiring, v)
	r.mu.Unlock()
	if retiring {
		r.change(id, func(m *model) {
			if e := m.at(v.number); e != nil && e.version == v && e.state == stateUnloading {
				e.state, e.reason, e.version = stateUnavailable, reasonUnloaded, nil
			}
		})
	}
	if err != nil {
		return fmt.Errorf("unloading '%s' version %d: %w", v.label, v.number, err)
	}
	return nil
}

// giveBack gives back what a closed version holds of the server. It is called
// once for a version.
func (r *Repository) giveBack(v *version) {
	r.unlimit(v)
	v.files.release()
	if !v.replaced {
		r.opts.Log.Info(fmt.Sprintf("successfully unloaded '%s' version %d", v.label, v.number))
	}
}
