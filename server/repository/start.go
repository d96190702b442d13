package repository

import (
	"context"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/desired"
	"triton/server/repository/layout"
	"triton/server/repository/plan"
)

// Start loads the models of the start. The repository serves afterwards if the error is nil
// or ErrLoad: some model failed, and the others serve. After any other error, such as the
// end of ctx, it does not serve.
func (r *Repository) Start(ctx context.Context) error { return r.runTask(ctx, r.start) }

func (r *Repository) start(ctx context.Context) error {
	l, asked, err := r.startModels(ctx)
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
		if err != nil && !lacksOnlyEngine(err) {
			return ErrLoad
		}
	}
	return nil
}

// startModels finds the models of the start.
func (r *Repository) startModels(ctx context.Context) (*layout.Listing, []plan.Finding, error) {
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
