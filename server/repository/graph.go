package repository

import (
	"slices"

	"triton/pkg/status"
)

// node is what is known of a model that somebody asked for or that an ensemble
// needs. It stays while its model cannot serve, so that an ensemble comes back
// with the models of its steps.
type node struct {
	asked bool       // by its own name
	model *candidate // what it was loaded from last
	files *scratch   // of an ensemble, which is loaded again with its parts
	err   error      // why that does not serve; nil: it does
}

// note brings candidates into the graph.
func (r *Repository) note(candidates []*candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range candidates {
		n := r.graph[c.id]
		if n == nil {
			n = &node{}
			r.graph[c.id] = n
		} else {
			n.files.release()
		}
		n.asked, n.model, n.files, n.err = n.asked || !c.part, c, nil, nil
		if isEnsemble(c.config.ModelConfig) {
			n.files = c.files
			n.files.hold()
		}
	}
}

// ask notes that a model is wanted for itself.
func (r *Repository) ask(id modelID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.graph[id]; n != nil {
		n.asked = true
	}
}

// settle notes how a load ended.
func (r *Repository) settle(id modelID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.graph[id]; n != nil {
		n.err = err
	}
}

// forget takes models out of the graph and, if wanted, those that only they
// need. It returns all that are to be unloaded.
func (r *Repository) forget(ids []modelID, dependents bool) []modelID {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := slices.Clone(ids)
	for i := 0; i < len(gone); i++ {
		n := r.graph[gone[i]]
		if n == nil {
			continue
		}
		n.files.release()
		delete(r.graph, gone[i])
		if !dependents {
			continue
		}
		for _, p := range n.model.parts {
			if part := r.graph[p]; part != nil && !part.asked && len(r.users(p)) == 0 && !slices.Contains(gone, p) {
				gone = append(gone, p)
			}
		}
	}
	return gone
}

// users are the ensembles that have a model as a step, sorted. The lock is held.
func (r *Repository) users(id modelID) []modelID {
	var all []modelID
	for user, n := range r.graph {
		if slices.Contains(n.model.parts, id) {
			all = append(all, user)
		}
	}
	slices.SortFunc(all, compareIDs)
	return all
}

// above are the ensembles over models, directly or through others, in an order
// in which each comes after those that it needs.
func (r *Repository) above(ids []modelID) []*candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	reached := map[modelID]bool{}
	for queue := slices.Clone(ids); len(queue) > 0; queue = queue[1:] {
		for _, user := range r.users(queue[0]) {
			if !reached[user] && !slices.Contains(ids, user) {
				reached[user] = true
				queue = append(queue, user)
			}
		}
	}
	var order []*candidate
	var visit func(id modelID)
	visit = func(id modelID) {
		if !reached[id] {
			return
		}
		delete(reached, id)
		for _, p := range r.graph[id].model.parts {
			visit(p)
		}
		order = append(order, r.graph[id].model)
	}
	for _, id := range r.sorted() {
		visit(id)
	}
	return order
}

func (r *Repository) sorted() []modelID {
	var all []modelID
	for id := range r.graph {
		all = append(all, id)
	}
	slices.SortFunc(all, compareIDs)
	return all
}

// circle says that an ensemble is among the models that it needs. The lock is
// held.
func (r *Repository) circle(c *candidate) error {
	seen := map[modelID]bool{}
	var find func(id modelID) (last modelID, found bool)
	find = func(id modelID) (modelID, bool) {
		n := r.graph[id]
		if n == nil || seen[id] {
			return id, false
		}
		seen[id] = true
		for _, p := range n.model.parts {
			if p == c.id {
				return id, true
			}
			if last, found := find(p); found {
				return last, true
			}
		}
		return id, false
	}
	last, found := find(c.id)
	if !found {
		return nil
	}
	return status.New(status.InvalidArg, "circular dependency between ensembles: %s -> ... -> %s -> %s", c.id, last, c.id)
}
