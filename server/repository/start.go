package repository

import (
	"context"
	"maps"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/desired"
	"triton/server/repository/layout"
	"triton/server/repository/plan"
	"triton/server/store"
)

// Start loads the models of the start. The error is ErrLoad when some model
// failed while the others serve, that of ctx when it ended first; any other
// error means that nothing was loaded. The repository serves afterwards when
// there is no error, and after ErrLoad.
func (r *Repository) Start(ctx context.Context) error { return r.attend(ctx, r.begin) }

func (r *Repository) begin(ctx context.Context) error {
	l, asked, err := r.initial(ctx)
	if err != nil {
		r.phase.Store(failed)
		return err
	}
	defer l.Release()
	out := r.reconcile(ctx, l, edit{by: desired.ByStart, added: asked, parts: true})
	r.phase.CompareAndSwap(starting, ready)
	for _, f := range asked {
		if out.reported[f.ID] {
			return ErrLoad
		}
	}
	for _, err := range out.errs {
		if err != nil && !lacksEngine(err) {
			return ErrLoad
		}
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

// initial finds the models of the start.
func (r *Repository) initial(ctx context.Context) (*layout.Listing, []plan.Finding, error) {
	if r.local != nil {
		if err := r.local.Check(); err != nil {
			return nil, nil, err
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(r.opts.Startup)))
	all := r.opts.Control != ControlExplicit || slices.Contains(names, "*")
	if all && r.opts.Control == ControlExplicit && len(names) > 1 {
		return nil, nil, status.New(status.InvalidArg, "Wildcard model name '*' must be the ONLY startup model if specified at all.")
	}
	l := r.list(ctx)
	if all {
		return l, every(l), l.Err
	}
	var asked []plan.Finding
	for _, name := range names {
		asked = append(asked, named(l, name)...)
	}
	return l, asked, nil
}

// Poll looks at the repository once and loads what is new or was changed, and
// unloads what is gone. What cannot be loaded is only logged, and tried again
// the next time. The error says that the repository cannot be read; then
// nothing is changed.
func (r *Repository) Poll(ctx context.Context) error {
	if r.opts.Control != ControlPoll {
		return status.New(status.Unavailable, "polling is disabled")
	}
	return r.attend(ctx, r.watch)
}

func (r *Repository) watch(ctx context.Context) error {
	r.polling.Lock()
	defer r.polling.Unlock()
	l := r.list(ctx)
	defer l.Release()
	if l.Err != nil {
		return l.Err
	}
	gone := r.known()
	for _, m := range l.Models {
		if !m.Ambiguous {
			delete(gone, m.ID)
		}
	}
	left := slices.SortedFunc(maps.Keys(gone), store.Compare)
	r.reconcile(ctx, l, edit{by: desired.ByPoll, added: every(l), removed: left})
	return nil
}

// known is the models that were loaded, or should have been.
func (r *Repository) known() map[store.ID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[store.ID]bool, len(r.outcomes))
	for id := range r.outcomes {
		all[id] = true
	}
	return all
}
