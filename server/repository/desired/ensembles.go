package desired

import (
	"slices"

	"triton/pkg/status"
	"triton/server/store"
)

// EnsemblesOf returns the ensembles that need one of the models, directly or through other
// ensembles. Each comes after the ensembles that it needs. The models themselves are left
// out, except an ensemble that needs another of the returned ensembles.
func (s State) EnsemblesOf(ids []store.ID) []store.ID {
	reached := map[store.ID]bool{}
	for queue := slices.Clone(ids); len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, user := range s.users(at) {
			if !reached[user] && (reached[at] || !slices.Contains(ids, user)) {
				reached[user] = true
				queue = append(queue, user)
			}
		}
	}
	var order []store.ID
	var visit func(id store.ID)
	visit = func(id store.ID) {
		if !reached[id] {
			return
		}
		delete(reached, id)
		for _, p := range s.ComposingModels(id) {
			visit(p)
		}
		order = append(order, id)
	}
	for _, id := range s.sorted() {
		visit(id)
	}
	return order
}

// users returns the ensembles that have a model as a step, sorted.
func (s State) users(id store.ID) []store.ID {
	var all []store.ID
	for user, m := range s {
		if slices.Contains(m.content.ComposingModels, id) {
			all = append(all, user)
		}
	}
	slices.SortFunc(all, store.Compare)
	return all
}

func (s State) sorted() []store.ID {
	var all []store.ID
	for id := range s {
		all = append(all, id)
	}
	slices.SortFunc(all, store.Compare)
	return all
}

// Neighbors returns the names of the models that steps connect with the models of a name.
func (s State) Neighbors(name string) []string {
	var all []string
	for id, m := range s {
		for _, p := range m.content.ComposingModels {
			switch {
			case id.Name == name:
				all = append(all, p.Name)
			case p.Name == name:
				all = append(all, id.Name)
			}
		}
	}
	return all
}

// Cycle returns an error if an ensemble needs itself.
func (s State) Cycle(id store.ID) error {
	seen := map[store.ID]bool{}
	var find func(at store.ID) (last store.ID, found bool)
	find = func(at store.ID) (store.ID, bool) {
		if seen[at] {
			return at, false
		}
		seen[at] = true
		for _, p := range s.ComposingModels(at) {
			if p == id {
				return at, true
			}
			if last, found := find(p); found {
				return last, true
			}
		}
		return at, false
	}
	last, found := find(id)
	if !found {
		return nil
	}
	return status.New(status.InvalidArg, "circular dependency between ensembles: %s -> ... -> %s -> %s", id, last, id)
}
