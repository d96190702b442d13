package repository

import (
	"context"
	"errors"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// relatedLock is a name that no model has. An operation on several models, which ensembles
// connect, locks it first. So two such operations never wait for each other.
const relatedLock = ""

// reserve locks the names that find returns, those of a model and of the models that are related to it,
// for op. If another operation has unlocked one of the names since the watch began, it may have loaded
// newer files than the listing shows, so reserve calls relist. Then reserve calls find again; if the
// names have changed, it unlocks all and starts again. It returns what find returned last. After an error
// no name is locked.
func (r *Repository) reserve(
	ctx context.Context, op *operation, name string, w *watch, find func() related, relist func(),
) (all related, free func(), err error) {
	for all = find(); ; {
		held := all.names
		if len(held) > 1 && !r.locks.heldAround(op, relatedLock) {
			held = append([]string{relatedLock}, held...)
		}
		free, err := r.locks.lockAll(ctx, op, held, w)
		if errors.Is(err, errCycle) {
			return all, nil, status.New(status.Unavailable,
				"model '%s' is being loaded or unloaded, and that waits for this call; models must not load or unload themselves or each other while they are being loaded", name)
		}
		if err != nil {
			return all, nil, err
		}
		if r.locks.changedSince(w, held) {
			relist()
		}
		now := find()
		switch {
		case ctx.Err() != nil: // then the related names may be incomplete
			free()
			return all, nil, &status.Error{Code: status.Cancelled, Msg: "the call ended before anything was done about model '" + name + "'", Cause: context.Cause(ctx)}
		case slices.Equal(now.names, all.names):
			return now, free, nil
		}
		free()
		all = now
	}
}

// related are the models that an operation may change or depends on.
type related struct {
	names []string // sorted
	// kept are the names of steps that needed no load when names was found, so that the ensembles over
	// them are not in names: the operation must not load them.
	kept map[string]bool
}

// relatedToLoad returns what the load of a model may change or depends on: the model and the models of its
// steps, in the store and in the desired state, and the ensembles over those of them that may be loaded. An
// ensemble that is only loaded again is loaded as it was read before, so the store is not asked for its
// steps; they are not needed either, because whoever changes one of them needs the ensemble's name too. So
// a load of one of many ensembles over the same model needs its own name and that of the model. With an
// override, the model's own steps are the steps of the override. With a restriction, every step may be loaded.
func (r *Repository) relatedToLoad(ctx context.Context, l *layout.Listing, name string, override *string, restrict restriction) related {
	members := reach([]string{name}, func(at string) []string {
		o := override
		if at != name {
			o = nil
		}
		return append(l.StepNames(ctx, at, o), r.under(at)...)
	}, relatedLock)
	changed, kept := members[:1:1], map[string]bool{}
	for _, step := range members[1:] {
		if restrict != nil || r.anyNeeds(ctx, l, step) {
			changed = append(changed, step)
		} else {
			kept[step] = true
		}
	}
	return related{sorted(append(members, reach(changed, r.over, relatedLock)...)), kept}
}

// relatedToUnload returns what the unload of a model may change: the model, the ensembles over it and, with
// dependents, the models of its steps.
func (r *Repository) relatedToUnload(name string, dependents bool) related {
	all := reach([]string{name}, r.over, relatedLock)
	if dependents {
		all = append(all, reach([]string{name}, r.under, relatedLock)...)
	}
	return related{names: sorted(all)}
}

// anyNeeds reports whether an operation that finds the models of a name as steps would load one of them.
func (r *Repository) anyNeeds(ctx context.Context, l *layout.Listing, name string) bool {
	return slices.ContainsFunc(l.Named(name), func(m store.Model) bool {
		f := state.Finding{ID: m.ID}
		if !r.examine(ctx, l, &f) {
			return false
		}
		return r.mustLoad(l, &f).Load()
	})
}

// connected returns the names that ensembles of the desired state connect with a name,
// sorted.
func (r *Repository) connected(name string) []string {
	return sorted(reach([]string{name}, r.neighbors, relatedLock))
}

// tryConnected takes names for an operation if all of them are free, and if ensembles connect no others
// with them: another operation may have added an ensemble since the names were found.
func (r *Repository) tryConnected(op *operation, names []string) (free func(), ok bool) {
	if free, ok = r.locks.tryAll(op, names); !ok {
		return nil, false
	}
	for _, name := range reach(names, r.neighbors, relatedLock) {
		if !r.locks.heldAround(op, name) {
			free()
			return nil, false
		}
	}
	return free, true
}

func (r *Repository) neighbors(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.Neighbors(name)
}

func (r *Repository) over(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.Over(name)
}

func (r *Repository) under(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.Under(name)
}

// sorted sorts names and removes those that are there twice.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
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
