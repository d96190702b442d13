package repository

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"triton/pkg/inferencepb"
)

// view is all models at one moment. A published one is never changed.
type view struct {
	// models has several entries under a name only when paths are namespaces.
	models map[string][]*model
	order  []*model // by path and name
}

// model is the versions of one model.
type model struct {
	id    modelID
	label string // of id
	// wanted is that somebody asked for the model and nobody to unload it since.
	wanted  bool
	entries []entry // ascending
	any     *newest // nil when none is ready
}

// entry is a version as the repository lists it. It stays when the version is
// unloaded.
type entry struct {
	number  int64
	text    string // number in decimal
	state   state
	reason  string
	version *version // while there is one: ready, or on its way out
}

// newest is the highest ready version, as those get it who name no version: its
// metadata lists all ready ones.
type newest struct {
	*version
	all *inferencepb.ModelMetadataResponse
}

// Metadata lists all ready versions.
func (n *newest) Metadata() *inferencepb.ModelMetadataResponse { return n.all }

// state is where a model version is in its life, with the names of the
// repository index.
type state string

// The states. A version that is loaded again stays ready meanwhile.
//
//	-> LOADING -> READY -> UNLOADING -> UNAVAILABLE, "unloaded"
//	   LOADING ---------------------> UNAVAILABLE, why
//	   LOADING -> UNLOADING (another version of the same load failed)
const (
	stateLoading     state = "LOADING"
	stateReady       state = "READY"
	stateUnloading   state = "UNLOADING"
	stateUnavailable state = "UNAVAILABLE"
)

const reasonUnloaded = "unloaded"

// named is the model of an id; nil when there is none.
func (v *view) named(id modelID) *model {
	for _, m := range v.models[id.name] {
		if m.id == id {
			return m
		}
	}
	return nil
}

// with is the view with m in place of the model of the same id.
func (v *view) with(m *model) *view {
	next := &view{models: maps.Clone(v.models), order: slices.Clone(v.order)}
	same := slices.Clone(next.models[m.id.name])
	next.models[m.id.name] = place(same, m)
	next.order = place(next.order, m)
	return next
}

// place puts m into a sorted list.
func place(list []*model, m *model) []*model {
	i, found := slices.BinarySearchFunc(list, m.id, func(m *model, id modelID) int { return compareIDs(m.id, id) })
	if found {
		list[i] = m
		return list
	}
	return slices.Insert(list, i, m)
}

// change publishes a view in which one model is changed.
func (r *Repository) change(id modelID, edit func(m *model)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.view.Load()
	m := &model{id: id, label: id.String()}
	if before := old.named(id); before != nil {
		*m = *before
		m.entries = slices.Clone(before.entries)
	}
	edit(m)
	m.choose()
	r.view.Store(old.with(m))
}

// at finds a version by its number; nil when the model has none.
func (m *model) at(n int64) *entry {
	i, found := m.search(n)
	if !found {
		return nil
	}
	return &m.entries[i]
}

// need is the entry of a version, made if there is none.
func (m *model) need(n int64) *entry {
	i, found := m.search(n)
	if !found {
		m.entries = slices.Insert(m.entries, i, entry{number: n, text: strconv.FormatInt(n, 10)})
	}
	return &m.entries[i]
}

func (m *model) search(n int64) (int, bool) {
	return slices.BinarySearchFunc(m.entries, n, func(e entry, n int64) int { return cmp.Compare(e.number, n) })
}

// choose finds the highest ready version, after the entries have changed.
func (m *model) choose() {
	m.any = nil
	var texts []string
	var last *version
	for i := range m.entries {
		if e := &m.entries[i]; e.state == stateReady {
			last, texts = e.version, append(texts, e.text)
		}
	}
	if last != nil {
		m.any = &newest{last, describe(last.config, texts...)}
	}
}

// works says whether the version is ready and has not lost all its instances.
func (e *entry) works() bool { return e.state == stateReady && e.version.runner.Ready() }
