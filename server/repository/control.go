package repository

import (
	"context"
	"fmt"
	"strings"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

var (
	errNotExplicit = status.New(status.Unavailable, "explicit model load / unload is not allowed if polling is enabled")
	errExiting     = status.New(status.Unavailable, "the load was cancelled: the server is exiting")
	errUnloaded    = status.New(status.Unavailable, "the load was cancelled: the model was unloaded meanwhile")
	errNotReady    = status.New(status.Unavailable, "Server not ready")
)

// Load loads a model for a client. While it lists the store, and while another operation
// holds the model's name, it ends with ctx. As in Triton, a load that has begun continues
// when the client disconnects; it ends early only with the server.
func (r *Repository) Load(ctx context.Context, name string, o infer.LoadOptions) error {
	return r.control(func() error {
		if err := infer.CheckModelName(name); err != nil {
			return err
		}
		return r.loadWithRoom(ctx, store.ID{Name: name}, o, func() error { return r.loadFor(ctx, state.ByClient, store.ID{Name: name}, o, nil) })
	})
}

// loadFor loads what a restriction leaves of a model for a requester. An ID without a namespace stands for all
// models of the name.
func (r *Repository) loadFor(ctx context.Context, by state.Requester, id store.ID, o infer.LoadOptions, restrict restriction) error {
	defer lendPlace(ctx)()
	op, life := r.newOperation(ctx)
	wait, stop := r.waitContext(ctx)
	defer stop()
	w := r.locks.watch()
	defer r.locks.unwatch(w)
	l := r.look(wait)
	defer l.Release()
	find := func() related { return r.relatedToLoad(wait, l, id.Name, o.Config, restrict) }
	names, free, err := r.reserve(wait, op, id.Name, w, find, func() { r.relist(wait, l) })
	switch {
	case err != nil && r.life.Err() != nil:
		return errNotReady
	case err != nil:
		return err
	}
	defer free()
	life, done := r.clientLoads.begin(life, id.Name)
	defer done()
	return r.loadNamed(life, l, id, o, edit{by: by, kept: names.kept, restrict: restrict})
}

// waitContext returns the context for the wait before an operation. It ends with ctx and
// with the server.
func (r *Repository) waitContext(ctx context.Context) (_ context.Context, stop func()) {
	both, end := context.WithCancelCause(ctx)
	detach := context.AfterFunc(r.life, func() { end(context.Cause(r.life)) })
	return both, func() {
		detach()
		end(nil)
	}
}

// Unload takes a model out of service, and the ensembles that need it. With dependents it
// also unloads the models that only the model needs as steps, if nothing else requested
// them. It returns when they take no new requests. The requests in flight finish, then the
// versions are closed. Unknown models and models that are not loaded are not an error.
func (r *Repository) Unload(ctx context.Context, name string, dependents bool) error {
	return r.control(func() error {
		r.overrides.forget(name)
		return r.unload(ctx, store.ID{Name: name}, dependents)
	})
}

// unload unloads a model. An ID without a namespace stands for all models of the name.
func (r *Repository) unload(ctx context.Context, id store.ID, dependents bool) error {
	defer lendPlace(ctx)()
	op, life := r.newOperation(ctx)
	r.clientLoads.cancel(op, id.Name, errUnloaded)
	find := func() related { return r.relatedToUnload(id.Name, dependents) }
	_, free, err := r.reserve(ctx, op, id.Name, nil, find, func() {})
	if err != nil {
		return err
	}
	defer free()
	var ids []store.ID
	for _, m := range r.actual.Snapshot().Named(id.Name) {
		if id.Namespace == "" || m.ID == id {
			ids = append(ids, m.ID)
		}
	}
	r.reconcile(life, nil, edit{removed: ids, dependents: dependents})
	return nil
}

// control runs an operation of a client if the server and its control mode allow it.
func (r *Repository) control(do func() error) error {
	if r.phase.Load() != ready || !r.tasks.begin() {
		return errNotReady
	}
	defer r.tasks.done()
	if r.opts.Control != ControlExplicit && r.opts.Control != ControlAuto {
		return errNotExplicit
	}
	return do()
}

// loadNamed loads the models of an ID, or the files that came with the load, until the context
// of the operation ends. The caller has locked the related names.
func (r *Repository) loadNamed(life context.Context, l *layout.Listing, id store.ID, o infer.LoadOptions, e edit) error {
	requested := findings(l, id)
	if len(o.Files) > 0 {
		f := state.Finding{ID: store.ID{Name: id.Name}}
		f.Content, f.Err = l.Unpack(&r.scratch, id.Name, o)
		requested = []state.Finding{f}
	} else {
		for i := range requested {
			requested[i].Override, requested[i].Again = o.Config, o.Again
		}
	}
	e.added, e.composing = requested, true
	out := r.reconcile(life, l, e)
	r.keepFound(l)
	var text, unread strings.Builder
	complete := true
	for _, f := range requested {
		if err := out.errs[f.ID]; err != nil {
			fmt.Fprintf(&text, "load failed for model '%s': %s\n", f.ID, err)
		}
		if cause, reported := out.reported[f.ID]; reported {
			complete = false
			if cause != nil { // NVIDIA's server has it in its log only
				fmt.Fprintf(&unread, ": %s", cause)
			}
		}
	}
	switch {
	case text.Len() > 0:
		return status.New(status.InvalidArg, "%s", text.String())
	case !complete:
		return status.New(status.Internal, "failed to load '%s', failed to poll from model repository%s", id.Name, unread.String())
	}
	return nil
}
