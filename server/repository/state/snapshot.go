package state

import (
	"maps"
	"slices"

	"triton/server/store"
)

// Snapshot is all models at one moment. It is not changed once it is published.
type Snapshot struct {
	shards [shards]map[string][]*Model
	order  []*Model // by ID
}

// shards is the number of parts of a snapshot by name. A change copies one of them: a start
// with 1,500 models makes 3,000 changes.
const shards = 64

// shardOf hashes the end of a name, where the names of many models differ.
func shardOf(name string) (h uint8) {
	for i := max(0, len(name)-4); i < len(name); i++ {
		h = 31*h + name[i]
	}
	return h % shards
}

// Models returns all models, sorted by ID; read-only.
func (s *Snapshot) Models() []*Model { return s.order }

// Named returns the models of a name, sorted by ID; read-only. There are several only with
// namespacing.
func (s *Snapshot) Named(name string) []*Model { return s.shards[shardOf(name)][name] }

// Model returns the model of an ID; nil when there is none.
func (s *Snapshot) Model(id store.ID) *Model {
	for _, m := range s.Named(id.Name) {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// with returns a copy with m in place of the model of the same ID.
func (s *Snapshot) with(m *Model) *Snapshot {
	next := &Snapshot{shards: s.shards, order: insert(slices.Clone(s.order), m)}
	shard := &next.shards[shardOf(m.ID.Name)]
	if *shard = maps.Clone(*shard); *shard == nil {
		*shard = map[string][]*Model{}
	}
	(*shard)[m.ID.Name] = insert(slices.Clone((*shard)[m.ID.Name]), m)
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
