package repository

import (
	"context"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
	"triton/server/repository/state"
)

// Start loads the startup models. The repository serves afterwards if the error is nil
// or ErrLoad: some model failed, and the others serve. After any other error, such as the
// end of ctx, it does not serve, and Start may be called again.
func (r *Repository) Start(ctx context.Context) error { return r.runTask(ctx, r.start) }

func (r *Repository) start(ctx context.Context) error {
	r.progress.started()
	defer r.progress.finished()
	l, requested, err := r.startupModels(ctx)
	if err != nil {
		r.failure.Store(&err)
		r.phase.CompareAndSwap(starting, failed)
		return err
	}
	defer l.Release()
	if r.demand != nil {
		return r.startOnDemand(ctx, l, requested)
	}
	out := r.reconcile(ctx, l, edit{by: state.ByStart, added: requested, composing: true, restrict: r.startRestriction()})
	if !r.phase.CompareAndSwap(starting, ready) {
		r.phase.CompareAndSwap(failed, ready)
	}
	for _, f := range requested {
		if _, reported := out.reported[f.ID]; reported {
			return ErrLoad
		}
	}
	for _, err := range out.errs {
		if err != nil && (r.opts.RequireLibraries || !lacksOnlyLibrary(err)) {
			return ErrLoad
		}
	}
	return nil
}

// startupModels finds the startup models.
func (r *Repository) startupModels(ctx context.Context) (*layout.Listing, []state.Finding, error) {
	if r.paths != nil {
		if err := r.paths.Check(ctx); err != nil {
			return nil, nil, err
		}
		for _, text := range r.paths.Advice() {
			r.opts.Log.Warn(text)
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(r.opts.Startup)))
	all := r.opts.Control != ControlExplicit && r.opts.Control != ControlAuto || slices.Contains(names, "*")
	if all && len(r.opts.Startup) > 0 && len(names) > 1 {
		return nil, nil, status.New(status.InvalidArg, "Wildcard model name '*' must be the ONLY startup model if specified at all.")
	}
	l := r.list(ctx)
	if all {
		return l, allFindings(l), l.Err
	}
	var requested []state.Finding
	for _, name := range names {
		requested = append(requested, namedFindings(l, name)...)
	}
	return l, requested, nil
}
