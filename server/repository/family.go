package repository

import (
	"context"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
)

// families is the name that stands for all models that ensembles connect: who
// works on several of them holds it, so that no two such calls wait for each
// other's models. It is no name of a model.
const families = ""

// reserve holds the name of a model and, if ensembles connect it with others, theirs:
// what family returns. If another operation has freed one of the names since the watch
// began, what was read of the store may be older than what that operation has loaded, and
// relist is called. The family is found out again once its names are held. While it has
// other members, all names are given up and reserve begins anew. When ctx has ended
// nothing is held.
func (r *Repository) reserve(ctx context.Context, name string, w *watch, family func() []string, relist func()) (free func(), err error) {
	for all := family(); ; {
		names := all
		if len(all) > 1 {
			names = append([]string{families}, all...)
		}
		free, err := r.hold(ctx, names, w)
		if err != nil {
			return nil, err
		}
		if r.names.overtaken(w, names) {
			relist()
		}
		now := family()
		switch {
		case ctx.Err() != nil: // then a family may be incomplete
			free()
			return nil, &status.Error{Code: status.Cancelled, Msg: "the call ended before anything was done about model '" + name + "'", Cause: context.Cause(ctx)}
		case slices.Equal(now, all):
			return free, nil
		}
		free()
		all = now
	}
}

// hold takes several names in their order.
func (r *Repository) hold(ctx context.Context, all []string, w *watch) (free func(), err error) {
	var held []func()
	free = func() {
		for _, f := range slices.Backward(held) {
			f()
		}
	}
	for _, name := range all {
		f, err := r.names.hold(ctx, name, w)
		if err != nil {
			free()
			return nil, err
		}
		held = append(held, f)
	}
	return free, nil
}

// family returns the names of a model, of those that its steps need, and of the
// ensembles that need one of them, sorted: as they lie in the store and as they
// are wanted. With override it is known what the model is to be.
func (r *Repository) family(ctx context.Context, l *layout.Listing, name string, override *string) []string {
	return closure(name, func(at string) []string {
		if at != name {
			return append(r.relatives(at), l.StepNames(ctx, at, nil)...)
		}
		return append(r.relatives(at), l.StepNames(ctx, at, override)...)
	})
}

// connected returns the names that wanted ensembles connect with a model, sorted.
func (r *Repository) connected(name string) []string { return closure(name, r.relatives) }

// closure returns a name and all that next leads to from it, sorted.
func closure(name string, next func(name string) []string) []string {
	all := []string{name}
	for i := 0; i < len(all); i++ {
		for _, n := range next(all[i]) {
			if n != families && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all
}

// relatives returns the names that the desired state connects with a name.
func (r *Repository) relatives(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.Neighbors(name)
}
