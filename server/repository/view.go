package repository

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository/plan"
	"triton/server/store"
)

// view is all models at one moment. A published one is never changed.
type view struct {
	// models has several entries under a name only when paths are namespaces.
	models map[string][]*served
	order  []*served // by path and name
}

// served is the versions of one model.
type served struct {
	id    store.ID
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
	version *model.Loaded // while there is one: ready, or on its way out
}

// newest is the highest ready version, as those get it who name no version: its
// metadata lists all ready ones.
type newest struct {
	*model.Loaded
	all *inferencepb.ModelMetadataResponse
	// choice is nil without a rule, and when there is one version only.
	choice *choice
}

// choice is a rule and the versions that it has to choose from: those that a front
// end can treat as the newest, which is the last.
type choice struct {
	rule  infer.Chooser
	ready []infer.Model
	log   *slog.Logger
}

// of asks the rule. One that panics has no opinion.
func (c *choice) of(r *infer.Request) (index int) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic while choosing a version; the newest answers", "model", r.ModelName, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			index = -1
		}
	}()
	return c.rule.Choose(r, c.ready)
}

// Metadata lists all ready versions.
func (n *newest) Metadata() *inferencepb.ModelMetadataResponse { return n.all }

// Choose gives the reference to the newest version for one to that which is to
// answer. One that has just been taken out of service is not chosen.
func (n *newest) Choose(r *infer.Request) infer.Model {
	if n.choice == nil {
		return n
	}
	i := n.choice.of(r)
	if i < 0 || i >= len(n.choice.ready)-1 {
		return n
	}
	v := n.choice.ready[i].(*model.Loaded)
	if !v.Acquire() {
		return n
	}
	n.Release()
	return v
}

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
func (v *view) named(id store.ID) *served {
	for _, m := range v.models[id.Name] {
		if m.id == id {
			return m
		}
	}
	return nil
}

// with is the view with m in place of the model of the same id.
func (v *view) with(m *served) *view {
	next := &view{models: maps.Clone(v.models), order: slices.Clone(v.order)}
	same := slices.Clone(next.models[m.id.Name])
	next.models[m.id.Name] = place(same, m)
	next.order = place(next.order, m)
	return next
}

// place puts m into a sorted list.
func place(list []*served, m *served) []*served {
	i, found := slices.BinarySearchFunc(list, m.id, func(m *served, id store.ID) int { return store.Compare(m.id, id) })
	if found {
		list[i] = m
		return list
	}
	return slices.Insert(list, i, m)
}

// change publishes a view in which one model is changed.
func (r *Repository) change(id store.ID, edit func(m *served)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.view.Load()
	m := &served{id: id, label: id.String()}
	if before := old.named(id); before != nil {
		*m = *before
		m.entries = slices.Clone(before.entries)
	}
	edit(m)
	m.choose(r.opts.Chooser, r.opts.Log)
	r.view.Store(old.with(m))
}

// at finds a version by its number; nil when the model has none.
func (m *served) at(n int64) *entry {
	i, found := m.search(n)
	if !found {
		return nil
	}
	return &m.entries[i]
}

// need is the entry of a version, made if there is none.
func (m *served) need(n int64) *entry {
	i, found := m.search(n)
	if !found {
		m.entries = slices.Insert(m.entries, i, entry{number: n, text: strconv.FormatInt(n, 10)})
	}
	return &m.entries[i]
}

func (m *served) search(n int64) (int, bool) {
	return slices.BinarySearchFunc(m.entries, n, func(e entry, n int64) int { return cmp.Compare(e.number, n) })
}

// choose finds the highest ready version, after the entries have changed.
func (m *served) choose(rule infer.Chooser, log *slog.Logger) {
	m.any = nil
	var texts []string
	var last *model.Loaded
	for i := range m.entries {
		if e := &m.entries[i]; e.state == stateReady {
			last, texts = e.version, append(texts, e.text)
		}
	}
	if last == nil {
		return
	}
	m.any = &newest{Loaded: last, all: model.Describe(last.Config(), texts...)}
	if ready := m.alike(last); rule != nil && len(ready) > 1 {
		m.any.choice = &choice{rule, ready, log}
	}
}

// alike returns the ready versions that answer as often as another one: front ends
// look at that before they decode a request.
func (m *served) alike(v *model.Loaded) (all []infer.Model) {
	decoupled := func(v *model.Loaded) bool { return v.Config().GetModelTransactionPolicy().GetDecoupled() }
	for _, e := range m.entries {
		if e.state == stateReady && decoupled(e.version) == decoupled(v) {
			all = append(all, e.version)
		}
	}
	return all
}

// newest returns the version that requests without a version use; nil when none
// serves.
func (m *served) newest() *model.Loaded {
	if m == nil || m.any == nil {
		return nil
	}
	return m.any.Loaded
}

// serving lists the ready versions for a plan.
func (m *served) serving() []plan.Ready {
	if m == nil {
		return nil
	}
	var all []plan.Ready
	for _, e := range m.entries {
		if e.state == stateReady {
			from := e.version.From()
			all = append(all, plan.Ready{
				Number: e.number, Origin: from.Origin, Config: from.Config, Stamp: from.Stamp, Broken: e.version.Broken(),
			})
		}
	}
	return all
}

// explain returns why a version is in its state, and what instances of it lack.
func (e *entry) explain() string {
	if e.state == stateReady {
		return e.version.Remark()
	}
	return e.reason
}

// works says whether the version is ready and has not lost all its instances.
func (e *entry) works() bool { return e.state == stateReady && e.version.Ready() }

// broken reports whether a ready version of the model has lost all its instances.
func (m *served) broken() bool {
	return m != nil && slices.ContainsFunc(m.entries, func(e entry) bool { return e.state == stateReady && e.version.Broken() })
}
