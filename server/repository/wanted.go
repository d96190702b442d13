package repository

import (
	"slices"

	"triton/pkg/status"
	"triton/server/repository/layout"
	"triton/server/store"
)

// asker tells who wants a model.
type asker uint8

const (
	byStart asker = 1 << iota
	byPoll
	byClient
	byStep // of an ensemble
)

// wanted is what shall be served. It is edited by operations, under the lock of the
// repository.
type wanted map[store.ID]*want

// want is that a model shall be served, and from what. It stays while the model
// cannot serve, so that an ensemble comes back with the models of its steps.
type want struct {
	by      asker
	content *layout.Content // as it was read last
}

// parts returns the models that an ensemble needs.
func (w wanted) parts(id store.ID) []store.ID {
	if n := w[id]; n != nil {
		return n.content.Parts
	}
	return nil
}

// want notes who wants a model and, if its content was read, from what it is to be
// loaded. A model that could never be read is not noted: there is nothing to load.
func (w wanted) want(id store.ID, by asker, c *layout.Content) {
	n := w[id]
	switch {
	case n == nil && c == nil:
		return
	case n == nil:
		n = &want{}
		w[id] = n
	}
	n.by |= by
	if c == nil {
		return
	}
	if c.Ensemble() { // which is loaded again with its parts
		c.Folder.Hold()
	}
	n.drop()
	n.content = c
}

// drop gives up the folder of an ensemble.
func (n *want) drop() {
	if n.content != nil && n.content.Ensemble() {
		n.content.Folder.Release()
	}
}

// forget takes models out and, with dependents, those that only they need. It
// returns all that are to be unloaded.
func (w wanted) forget(ids []store.ID, dependents bool) []store.ID {
	gone := slices.Clone(ids)
	for i := 0; i < len(gone); i++ {
		n := w[gone[i]]
		if n == nil {
			continue
		}
		n.drop()
		delete(w, gone[i])
		if !dependents {
			continue
		}
		for _, p := range n.content.Parts {
			if part := w[p]; part != nil && part.by == byStep && len(w.users(p)) == 0 && !slices.Contains(gone, p) {
				gone = append(gone, p)
			}
		}
	}
	return gone
}

// users returns the ensembles that have a model as a step, sorted.
func (w wanted) users(id store.ID) []store.ID {
	var all []store.ID
	for user, n := range w {
		if slices.Contains(n.content.Parts, id) {
			all = append(all, user)
		}
	}
	slices.SortFunc(all, store.Compare)
	return all
}

// above returns the ensembles over models, directly or through others, in an order
// in which each comes after those that it needs. Those among the models themselves are
// left out, unless they need another one that is returned.
func (w wanted) above(ids []store.ID) []store.ID {
	reached := map[store.ID]bool{}
	for queue := slices.Clone(ids); len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, user := range w.users(at) {
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
		for _, p := range w.parts(id) {
			visit(p)
		}
		order = append(order, id)
	}
	for _, id := range w.sorted() {
		visit(id)
	}
	return order
}

func (w wanted) sorted() []store.ID {
	var all []store.ID
	for id := range w {
		all = append(all, id)
	}
	slices.SortFunc(all, store.Compare)
	return all
}

// circle reports that an ensemble is among the models that it needs.
func (w wanted) circle(id store.ID) error {
	seen := map[store.ID]bool{}
	var find func(at store.ID) (last store.ID, found bool)
	find = func(at store.ID) (store.ID, bool) {
		if seen[at] {
			return at, false
		}
		seen[at] = true
		for _, p := range w.parts(at) {
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
