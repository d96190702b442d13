package ondemand

import (
	"slices"
)

// closing is memory that an unloaded model has not freed yet.
type closing struct {
	bytes   Bytes
	pending func() bool
}

// needOf returns the memory that a load needs for the members that are not loaded now. With shared it
// leaves out what other loads have reserved: two ensembles may need the same step. The caller holds
// m.mu.
func (m *Manager) needOf(t Target, all []Model, shared bool) Bytes {
	need := Bytes{}
	for _, member := range t.Members {
		if !isLoaded(all, member.Name) && (!shared || !m.counted(member.Name)) {
			addTo(need, member.Need)
		}
	}
	return need
}

// counted reports whether the memory of a model is reserved already. The caller holds m.mu.
func (m *Manager) counted(name string) bool {
	r := m.reserved[name]
	return r != nil && len(r.bytes) > 0
}

func isLoaded(all []Model, name string) bool {
	return slices.ContainsFunc(all, func(l Model) bool { return l.Name == name })
}

// addTo adds all devices of other.
func addTo(b, other Bytes) {
	for d, n := range other {
		b[d] += n
	}
}

// used returns the memory that is in use or reserved, with what is about to be freed. The caller
// holds m.mu.
func (m *Manager) used(all []Model, freed Bytes) Bytes {
	used := Bytes{}
	for _, l := range all {
		addTo(used, l.Bytes)
	}
	for name, r := range m.reserved {
		if !isLoaded(all, name) {
			addTo(used, r.bytes)
		}
	}
	for name, bytes := range m.leaving {
		if !isLoaded(all, name) {
			addTo(used, bytes)
		}
	}
	addTo(used, freed)
	return used
}

// freed returns the memory that models are about to free. The caller holds m.mu.
func (m *Manager) freed() Bytes {
	m.closing = slices.DeleteFunc(m.closing, func(c closing) bool { return !c.pending() })
	sum := Bytes{}
	for _, c := range m.closing {
		addTo(sum, c.bytes)
	}
	return sum
}

// candidates returns the models that may be evicted for a load, the one to evict first at the
// beginning. The caller holds m.mu.
func (m *Manager) candidates(all []Model, p *place) []candidate {
	var names []string
	by := map[string]*Model{}
	for i := range all {
		l := &all[i]
		by[l.Name] = l
		if !l.Ensemble && !l.Busy && !m.kept(l, all, p) {
			names = append(names, l.Name)
		}
	}
	m.book.Order(names)
	list := make([]candidate, 0, len(names))
	for _, name := range names {
		list = append(list, candidate{Name: name, Frees: by[name].Bytes})
	}
	return list
}

// kept reports whether a model is not evicted for a load: it is pinned or part of a load, or an
// ensemble that needs it is. The caller holds m.mu.
func (m *Manager) kept(l *Model, all []Model, p *place) bool {
	if l.Pinned || l.Lasting || m.reserved[l.Name] != nil || p != nil && p.members[l.Name] {
		return true
	}
	for _, user := range l.With {
		for i := range all {
			if u := &all[i]; u.Name == user && (u.Busy || u.Pinned || u.Lasting || m.reserved[u.Name] != nil) {
				return true
			}
		}
	}
	return false
}

// fixed returns the memory that will never be free for a load. The caller holds m.mu.
func (m *Manager) fixed(all []Model, p *place) Bytes {
	sum := Bytes{}
	for i := range all {
		if l := &all[i]; l.Lasting || m.pinned(l, all) || p.members[l.Name] {
			addTo(sum, l.Bytes)
		}
	}
	return sum
}

// pinned reports whether a model, or an ensemble that needs it, is pinned.
func (m *Manager) pinned(l *Model, all []Model) bool {
	return l.Pinned || slices.ContainsFunc(all, func(u Model) bool { return u.Pinned && slices.Contains(l.With, u.Name) })
}
