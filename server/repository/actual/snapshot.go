package actual

import (
	"maps"
	"slices"

	"triton/server/store"
)

// Snapshot is all models at one moment. It is not changed once it is published.
type Snapshot struct {
	// models has several entries under a name only with namespacing.
	models map[string][]*Model
	order  []*Model // by ID
}

// Models returns all models, sorted by ID; read-only.
func (s *Snapshot) Models() []*Model { return s.order }

// Named returns the models of a name, sorted by ID; read-only.
func (s *Snapshot) Named(name string) []*Model { return s.models[name] }

// Model returns the model of an ID; nil when there is none.
func (s *Snapshot) Model(id store.ID) *Model {
	for _, m := range s.models[id.Name] {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// with returns a copy with m in place of the model of the same ID.
func (s *Snapshot) with(m *Model) *Snapshot {
	next := &Snapshot{models: maps.Clone(s.models), order: slices.Clone(s.order)}
	same := slices.Clone(next.models[m.ID.Name])
	next.models[m.ID.Name] = insert(same, m)
	next.order = insert(next.order, m)
	return next
}

// insert puts m into a sorted list, in place of the model of the same ID.
func insert(list []*Model, m *Model) []*Model {
	i, found := slices.BinarySearchFunc(list, m.ID, func(m *Model, id store.ID) int { return store.Compare(m.ID, id) })
	if found {
		list[i] = m
		return list
	}
	return slices.Insert(list, i, m)
}
