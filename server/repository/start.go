package repository

import (
	"context"
	"errors"
	"maps"
	"slices"

	"triton/pkg/status"
	"triton/server/infer"
)

// Start loads the models of the start. The error is ErrLoad when some model
// failed while the others serve, that of ctx when it ended first; any other
// error means that nothing was loaded. The repository serves afterwards when
// there is no error, and after ErrLoad.
func (r *Repository) Start(ctx context.Context) error { return r.attend(ctx, r.begin) }

func (r *Repository) begin(ctx context.Context) error {
	candidates, complete, err := r.initial()
	if err != nil {
		r.phase.Store(failed)
		return err
	}
	for _, err := range r.applyAll(ctx, r.withParts(nil, candidates)) {
		var f *failure
		complete = complete && (err == nil || errors.As(err, &f) && f.engine)
	}
	r.phase.CompareAndSwap(starting, ready)
	if !complete {
		return ErrLoad
	}
	return nil
}

// attend does something that a drain waits for. The context of do ends with ctx
// or with the repository, but an engine may be slow to see that, so the caller
// waits no longer than for ctx.
func (r *Repository) attend(ctx context.Context, do func(context.Context) error) error {
	if !r.tasks.begin() {
		return errNotReady
	}
	done := make(chan error, 1)
	go func() {
		defer r.tasks.done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.life, cancel)()
		done <- do(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
	return r.attend(ctx, r.look)
}

func (r *Repository) look(ctx context.Context) error {
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
	left := slices.SortedFunc(maps.Keys(gone), compareIDs)
	r.forget(left, false)
	for _, id := range left {
		r.dismiss(id)
	}
	r.applyAll(ctx, candidates)
	r.reassess(ctx, left)
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
