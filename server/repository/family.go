package repository

import (
	"context"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
)

// families is the name that stands for all models that ensembles connect. An operation on
// several of them holds it too, so that no two operations wait for each other. It is not the
// name of a model.
const families = ""

// reserve holds the name of a model and, if ensembles connect the model with others, their
// names: what family returns. If another operation has freed one of the names since the
// watch began, the listing may be older than what that operation has loaded, and reserve
// calls relist. It calls family again once the names are held; if the members have changed,
// it frees all names and starts again. When ctx has ended nothing is held.
func (r *Repository) reserve(ctx context.Context, name string, w *watch, family func() []string, relist func()) (free func(), err error) {
	for all := family(); ; {
		held := all
		if len(all) > 1 {
			held = append([]string{families}, all...)
		}
		free, err := r.names.holdAll(ctx, held, w)
		if err != nil {
			return nil, err
		}
		if r.names.overtaken(w, held) {
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

// family returns the names of a model, of the models that its steps need, and of the
// ensembles that need one of them, sorted: in the store and in the desired state. With an
// override, the model's own steps are those of the override.
func (r *Repository) family(ctx context.Context, l *layout.Listing, name string, override *string) []string {
	return closure(name, func(at string) []string {
		if at != name {
			return append(r.neighbors(at), l.StepNames(ctx, at, nil)...)
		}
		return append(r.neighbors(at), l.StepNames(ctx, at, override)...)
	})
}

// connected returns the names that ensembles of the desired state connect with a name,
// sorted.
func (r *Repository) connected(name string) []string { return closure(name, r.neighbors) }

func (r *Repository) neighbors(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired.Neighbors(name)
}

// closure returns a name and all names that next leads to from it, sorted.
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
