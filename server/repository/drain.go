package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/server/model"
	"triton/server/repository/actual"
	"triton/server/store"
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
		r.giveUp()
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("models are still being loaded: %w", context.Cause(ctx)))
	}
	open := r.open()
	r.hush(ctx, open)
	done := make(chan error, len(open))
	for _, v := range open {
		go func() { done <- r.close(ctx, v) }()
	}
	errs = append(errs, r.await(ctx, open, done)...)
	return errors.Join(append(errs, r.scratch.Remove())...)
}

// giveUp forgets what is wanted, and gives back the folders that ensembles were to be
// loaded from again.
func (r *Repository) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.desired.Clear()
}

// hush refuses new requests, and waits until those of the models that call others have
// ended, so that they find the models which they call. A call may outlast the request
// that it was made for: all callers have to be idle at the same moment. ctx ends the
// wait.
func (r *Repository) hush(ctx context.Context, open []*model.Loaded) {
	look := make(chan struct{}, 1)
	for _, v := range open {
		v.Stop(func() {
			select {
			case look <- struct{}{}:
			default: // it will look anyway
			}
		})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !model.Idle(callers(open)) {
		select {
		case <-look:
		case <-tick.C:
			r.report(ctx, open)
		case <-ctx.Done():
			return
		}
	}
}

// callers is the versions that call others, as far as they have asked for that.
func callers(open []*model.Loaded) []*model.Loaded {
	var all []*model.Loaded
	for _, v := range open {
		if v.EngineCalls() || v.Ensemble() {
			all = append(all, v)
		}
	}
	return all
}

// open is the versions that are not closed.
func (r *Repository) open() []*model.Loaded {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*model.Loaded
	for _, m := range r.actual.Snapshot().Models() {
		all = append(all, m.Ready()...)
	}
	for v := range r.retiring {
		all = append(all, v)
	}
	return all
}

// await collects the closed versions and looks every second what is missing. It
// says so, or gives up once ctx has ended: then an engine hangs.
func (r *Repository) await(ctx context.Context, open []*model.Loaded, done <-chan error) []error {
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

func (r *Repository) report(ctx context.Context, open []*model.Loaded) {
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

// retire closes a version that is out of service, once its requests have
// ended. It does not wait.
func (r *Repository) retire(id store.ID, v *model.Loaded) {
	r.mu.Lock()
	r.retiring[v] = id
	r.mu.Unlock()
	v.Leave()
	if !r.tasks.begin() {
		return // a drain closes it
	}
	go func() {
		defer r.tasks.done()
		select {
		case <-v.Drained():
			if err := r.close(r.life, v); err != nil && r.life.Err() == nil {
				r.opts.Log.Error("closing a model version", "model", v.Label(), "version", v.Number(), "error", err)
			}
		case <-r.life.Done(): // a drain closes it
		}
	}()
}

// close closes a version once its requests have ended.
func (r *Repository) close(ctx context.Context, v *model.Loaded) error {
	closed, err := r.builder.Close(ctx, v)
	if !closed {
		return err
	}
	r.mu.Lock()
	id, retiring := r.retiring[v]
	r.mu.Unlock()
	if retiring {
		r.actual.Change(id, func(m *actual.Model) {
			if at := m.Version(v.Number()); at != nil && at.Loaded == v && at.State == actual.Unloading {
				at.Unloaded()
			}
		})
	}
	r.mu.Lock()
	delete(r.retiring, v) // last: what does not retire any more is not in the index as if it did
	r.mu.Unlock()
	return err
}
