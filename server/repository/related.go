package repository

import (
	"context"
	"errors"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
	"triton/server/store"
)

// relatedLock is a name that no model has. An operation on several models, which ensembles
// connect, locks it first. So two such operations never wait for each other.
const relatedLock = ""

// reserve locks the names that related returns: the name of a model, and the names of the
// models that ensembles connect with it, for op. If another operation has unlocked one of the names
// since the watch began, it may have loaded newer files than the listing shows, so reserve
// calls relist. Then reserve calls related again; if the names have changed, it unlocks all and
// starts again. After an error no name is locked.
func (r *Repository) reserve(
	ctx context.Context, op *operation, name string, w *watch, related func() []string, relist func(),
) (free func(), err error) {
	for all := related(); ; {
		held := all
		if len(all) > 1 && !r.locks.heldAround(op, relatedLock) {
			held = append([]string{relatedLock}, all...)
		}
		free, err := r.locks.lockAll(ctx, op, held, w)
		if errors.Is(err, errCycle) {
			return nil, status.New(status.Unavailable,
				"model '%s' is being loaded or unloaded, and that waits for this call; models must not load or unload themselves or each other while they are being loaded", name)
		}
		if err != nil {
			return nil, err
		}
		if r.locks.changedSince(w, held) {
			relist()
		}
		now := related()
		switch {
		case ctx.Err() != nil: // then the related names may be incomplete
			free()
			return nil, &status.Error{Code: status.Cancelled, Msg: "the call ended before anything was done about model '" + name + "'", Cause: context.Cause(ctx)}
		case slices.Equal(now, all):
			return free, nil
		}
		free()
		all = now
	}
}

// relatedModels returns the names of the models that the load of a model may change, sorted: the
// model and the models of its steps, in the store and in the desired state, and all that ensembles of the
// desired state connect with them. An ensemble that is only loaded again is loaded as it was read
// before, so the store is not asked for its steps. With an override, the model's own steps are the
// steps of the override.
func (r *Repository) relatedModels(ctx context.Context, l *layout.Listing, name string, override *string) []string {
	members := closure([]string{name}, func(at string) []string {
		o := override
		if at != name {
			o = nil
		}
		return append(l.StepNames(ctx, at, o), r.desiredSteps(l, at)...)
	})
	return closure(members, r.neighbors)
}

// desiredSteps returns the names of the models that the models of a name have as steps in the desired
// state.
func (r *Repository) desiredSteps(l *layout.Listing, name string) []string {
	ids := []store.ID{{Name: name}}
	for _, m := range l.Named(name) {
		if m.ID.Namespace != "" {
			ids = append(ids, m.ID)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, id := range ids {
		for _, p := range r.desired.ComposingModels(id) {
			all = append(all, p.Name)
		}
	}
	return all
}

// connected returns the names that ensembles of the desired state connect with a name,
// sorted.
func (r *Repository) connected(name string) []string {
	return closure([]string{name}, r.neighbors)
}

func (r *Repository) neighbors(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.Neighbors(name)
}

// closure returns names and all names that can be reached from them through next, sorted.
func closure(from []string, next func(name string) []string) []string {
	all := reach(from, next, relatedLock)
	slices.Sort(all)
	return all
}

// reach returns all that can be reached from some through next, except none, and these first.
func reach[T comparable](from []T, next func(T) []T, none T) []T {
	var all []T
	seen := map[T]bool{none: true}
	add := func(more []T) {
		for _, n := range more {
			if !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	add(from)
	for i := 0; i < len(all); i++ {
		add(next(all[i]))
	}
	return all
}
