package repository

import (
	"context"
	"fmt"
	"strings"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/repository/desired"
	"triton/server/repository/layout"
	"triton/server/repository/plan"
	"triton/server/store"
)

var (
	errNotExplicit = status.New(status.Unavailable, "explicit model load / unload is not allowed if polling is enabled")
	errNotReady    = status.New(status.Unavailable, "Server not ready")
)

// Load loads one model by request of a client. Until it has listed the store, and
// while another call is at work on the same name, it ends with ctx. A load that has
// begun goes on when the client leaves, as Triton's does; it ends early only with the
// server.
func (r *Repository) Load(ctx context.Context, name string, o infer.LoadOptions) error {
	return r.control(func() error {
		if err := checkName(name); err != nil {
			return err
		}
		begin, stop := r.beginning(ctx)
		defer stop()
		w := r.names.watch()
		defer r.names.unwatch(w)
		l := r.list(begin)
		defer l.Release()
		family := func() []string { return r.family(begin, l, name, o.Config) }
		free, err := r.reserve(begin, name, w, family, func() { r.relist(begin, l) })
		switch {
		case err != nil && r.life.Err() != nil:
			return errNotReady
		case err != nil:
			return err
		}
		defer free()
		return r.load(l, name, o)
	})
}

// beginning returns the context of what comes before an operation: it ends with the
// client and with the server.
func (r *Repository) beginning(ctx context.Context) (_ context.Context, stop func()) {
	both, end := context.WithCancelCause(ctx)
	alone := context.AfterFunc(r.life, func() { end(context.Cause(r.life)) })
	return both, func() {
		alone()
		end(nil)
	}
}

// Unload takes a model out of service, and the ensembles that need it; with
// dependents also the models that only it needs and nobody asked for by name. It
// returns when no new requests are taken; those in flight finish, then the
// versions are closed. That a model is unknown or not loaded is no error.
func (r *Repository) Unload(ctx context.Context, name string, dependents bool) error {
	return r.control(func() error {
		free, err := r.reserve(ctx, name, nil, func() []string { return r.connected(name) }, func() {})
		if err != nil {
			return err
		}
		defer free()
		var ids []store.ID
		for _, m := range r.actual.Snapshot().Named(name) {
			ids = append(ids, m.ID)
		}
		r.reconcile(r.life, nil, edit{removed: ids, dependents: dependents})
		return nil
	})
}

// control does what a client asks for.
func (r *Repository) control(do func() error) error {
	if r.phase.Load() != ready || !r.tasks.begin() {
		return errNotReady
	}
	defer r.tasks.done()
	if r.opts.Control != ControlExplicit {
		return errNotExplicit
	}
	return do()
}

// checkName refuses what is no name of a directory.
func checkName(name string) error {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return status.New(status.InvalidArg, "Model name cannot be empty. Please enter a valid name to deploy.")
	case trimmed == ".." || strings.Contains(trimmed, "/"):
		return status.New(status.InvalidArg, "invalid model name '%s', model name must not contain path traversal characters", name)
	}
	return nil
}

func (r *Repository) load(l *layout.Listing, name string, o infer.LoadOptions) error {
	asked := named(l, name)
	if len(o.Files) > 0 {
		f := plan.Finding{ID: store.ID{Name: name}}
		f.Content, f.Err = l.Unpack(&r.scratch, name, o)
		asked = []plan.Finding{f}
	} else {
		for i := range asked {
			asked[i].Override = o.Config
		}
	}
	out := r.reconcile(r.life, l, edit{by: desired.ByClient, added: asked, parts: true})
	var text strings.Builder
	complete := true
	for _, f := range asked {
		if err := out.errs[f.ID]; err != nil {
			fmt.Fprintf(&text, "load failed for model '%s': %s\n", f.ID, err)
		}
		complete = complete && !out.reported[f.ID]
	}
	switch {
	case text.Len() > 0:
		return status.New(status.InvalidArg, "%s", text.String())
	case !complete:
		return status.New(status.Internal, "failed to load '%s', failed to poll from model repository", name)
	}
	return nil
}
