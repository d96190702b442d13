package repository

import (
	"context"
	"errors"
	"slices"

	"triton/pkg/status"
	"triton/server/infer"
)

// Start loads the models of the start. The error is ErrLoad when some model
// failed while the others serve; any other error means that nothing was
// loaded. The repository serves afterwards in both cases that are not the last.
func (r *Repository) Start(ctx context.Context) error {
	if !r.tasks.begin() {
		return errNotReady
	}
	defer r.tasks.done()
	candidates, complete, err := r.initial()
	if err != nil {
		r.phase.Store(failed)
		return err
	}
	ctx, cancel := r.until(ctx)
	defer cancel()
	for _, err := range r.applyAll(ctx, candidates) {
		var f *failure
		complete = complete && (err == nil || errors.As(err, &f) && f.engine)
	}
	r.phase.CompareAndSwap(starting, ready)
	if !complete {
		return ErrLoad
	}
	return nil
}

// initial finds what to load at the start.
func (r *Repository) initial() (candidates []*candidate, complete bool, err error) {
	if err := checkPaths(r.opts.Paths); err != nil {
		return nil, false, err
	}
	all := r.opts.Control != ControlExplicit || slices.Contains(r.opts.Startup, "*")
	if all && r.opts.Control == ControlExplicit && len(dedupe(r.opts.Startup)) > 1 {
		return nil, false, status.New(status.InvalidArg, "Wildcard model name '*' must be the ONLY startup model if specified at all.")
	}
	complete = true
	if all {
		dirs, err := r.scan()
		if err != nil {
			return nil, false, err
		}
		dirs = slices.DeleteFunc(dirs, func(f *found) bool {
			if f.twice {
				r.notUnique(f.id.name)
				complete = false
			}
			return f.twice
		})
		candidates, readable := r.survey(dirs, infer.LoadOptions{})
		return candidates, complete && readable, nil
	}
	for _, name := range dedupe(r.opts.Startup) {
		more, readable := r.poll(name, infer.LoadOptions{})
		candidates = append(candidates, more...)
		complete = complete && readable
	}
	return candidates, complete, nil
}

// Poll looks at the repository once and loads what is new or was changed, and
// unloads what is gone. What cannot be loaded is only logged, and tried again
// the next time. The error says that the repository cannot be read; then
// nothing is changed.
func (r *Repository) Poll(ctx context.Context) error {
	if r.opts.Control != ControlPoll {
		return status.New(status.Unavailable, "polling is disabled")
	}
	if !r.tasks.begin() {
		return errNotReady
	}
	defer r.tasks.done()
	r.polling.Lock()
	defer r.polling.Unlock()
	dirs, err := r.scan()
	if err != nil {
		return err
	}
	gone := r.known()
	dirs = slices.DeleteFunc(dirs, func(f *found) bool {
		if f.twice {
			r.notUnique(f.id.name)
		} else {
			delete(gone, f.id)
		}
		return f.twice
	})
	candidates, _ := r.survey(dirs, infer.LoadOptions{})
	for id := range gone {
		r.dismiss(id)
	}
	ctx, cancel := r.until(ctx)
	defer cancel()
	r.applyAll(ctx, candidates)
	return nil
}

// known is the models that were loaded, or should have been.
func (r *Repository) known() map[modelID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[modelID]bool, len(r.records))
	for id := range r.records {
		all[id] = true
	}
	return all
}

// until is ctx, or its end when the repository drains.
func (r *Repository) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
