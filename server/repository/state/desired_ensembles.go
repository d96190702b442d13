package state

import (
	"maps"
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
	"triton/server/store"
)

// EnsemblesOf returns the ensembles that need one of the models, directly or through other
// ensembles. Each comes after the ensembles that it needs. The given models are left out: they
// were just loaded, each after those that it needs. An exception is a given ensemble that needs
// one of the returned ensembles, because that one is loaded again.
func (s *Desired) EnsemblesOf(ids []store.ID) []store.ID {
	given := make(map[store.ID]bool, len(ids))
	for _, id := range ids {
		given[id] = true
	}
	reached := map[store.ID]bool{}
	for queue := slices.Clone(ids); len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for user := range s.users[at] {
			loadedAfter := given[user] && !reached[at] // user was just loaded, with at as it is
			if !reached[user] && !loadedAfter {
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
	for _, id := range slices.SortedFunc(maps.Keys(reached), store.Compare) {
		visit(id)
	}
	return order
}

// link records that the steps of a content connect its model with others.
func (s *Desired) link(id store.ID, c *layout.Content) {
	for _, p := range c.ComposingModels {
		if s.users[p] == nil {
			s.users[p] = map[store.ID]bool{}
		}
		s.users[p][id] = true
		s.over.add(p.Name, id.Name, 1)
		s.under.add(id.Name, p.Name, 1)
	}
}

// unlink undoes link for a model that is removed or gets another content.
func (s *Desired) unlink(id store.ID, m *desiredModel) {
	for _, p := range m.content.ComposingModels {
		if delete(s.users[p], id); len(s.users[p]) == 0 {
			delete(s.users, p)
		}
		s.over.add(p.Name, id.Name, -1)
		s.under.add(id.Name, p.Name, -1)
	}
}

// ensembleLinks counts the steps from one name to another.
type ensembleLinks map[string]map[string]int

func (l ensembleLinks) add(from, to string, steps int) {
	all := l[from]
	if all == nil {
		all = map[string]int{}
		l[from] = all
	}
	if all[to] += steps; all[to] == 0 {
		delete(all, to)
	}
	if len(all) == 0 {
		delete(l, from)
	}
}

// Over returns the names of the ensembles that have a model of a name as a step, in any order.
func (s *Desired) Over(name string) []string { return slices.Collect(maps.Keys(s.over[name])) }

// Under returns the names of the models that the ensembles of a name have as steps, in any order.
func (s *Desired) Under(name string) []string { return slices.Collect(maps.Keys(s.under[name])) }

// Neighbors returns the names of both.
func (s *Desired) Neighbors(name string) []string { return append(s.Over(name), s.Under(name)...) }

// Cycle returns an error if an ensemble needs itself.
func (s *Desired) Cycle(id store.ID) error {
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
