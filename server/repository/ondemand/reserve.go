package ondemand

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"triton/pkg/status"
	"triton/server/repository/evict"
)

// place is the place of a load in the queue for memory. Only the first one evicts models.
type place struct {
	name     string
	priority int
	need     evict.Bytes
	members  map[string]bool
	why      string // it waits
}

// reservation is memory for a load.
type reservation struct {
	bytes evict.Bytes
	loads int // that use it
}

// closing is memory that an unloaded model has not freed yet.
type closing struct {
	bytes   evict.Bytes
	pending func() bool
}

// reserve waits until there is memory for a load, and evicts idle models for it. The caller calls
// free when the load has ended. f shows what it waits for.
func (m *Manager) reserve(ctx context.Context, name string, t Target, f *flight) (free func(), err error) {
	p := &place{name: name, priority: t.Priority, members: map[string]bool{}}
	for _, member := range t.Members {
		p.members[member.Name] = true
	}
	m.mu.Lock()
	m.enqueue(p)
	f.place = p
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.dequeue(p)
		f.place = nil
		if free == nil {
			f.why = p.why
		}
	}()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		m.mu.Lock()
		first, changed, changes := m.queue[0] == p, m.changed, m.changes
		m.mu.Unlock()
		if first {
			free, again, err := m.tryReserve(p, t, changes)
			if free != nil || err != nil {
				return free, err
			}
			if again {
				continue
			}
		}
		var idle <-chan time.Time
		if first { // models become idle without notice
			idle = tick.C
		}
		select {
		case <-changed:
		case <-idle:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (m *Manager) enqueue(p *place) {
	i := slices.IndexFunc(m.queue, func(q *place) bool { return q.priority < p.priority })
	if i < 0 {
		i = len(m.queue)
	}
	p.why = "other loads wait for memory before it"
	m.queue = slices.Insert(m.queue, i, p)
}

func (m *Manager) dequeue(p *place) {
	if i := slices.Index(m.queue, p); i >= 0 {
		m.queue = slices.Delete(m.queue, i, i+1)
		m.wake()
	}
}

// tryReserve reserves memory for the first load of the queue, or evicts what that needs. changes is
// Manager.changes before; again reports that something has changed since.
func (m *Manager) tryReserve(p *place, t Target, changes uint64) (free func(), again bool, err error) {
	all := m.opts.Models.Loaded()
	m.mu.Lock()
	if m.changes != changes {
		m.mu.Unlock()
		return nil, true, nil
	}
	if slices.ContainsFunc(t.Members, func(member Member) bool { return m.leaving[member.Name] != nil }) {
		m.mu.Unlock()
		return nil, false, nil // until it has left
	}
	m.sample(all)
	p.need = m.needOf(t, all, false)
	freed := m.freed() // once: a model that is closed meanwhile would count as used and not as freed
	used := m.used(all, freed)
	lack := evict.Lack(m.opts.Budget, used, m.needOf(t, all, true))
	if lack.None() {
		defer m.mu.Unlock()
		return m.take(t, all), false, nil
	}
	if least := evict.Lack(m.opts.Budget, m.fixed(all, p), p.need); !least.None() {
		defer m.mu.Unlock()
		return nil, false, m.cannotFit(p, all)
	}
	lack.Add(freed, -1)
	victims, enough := evict.Choose(lack, m.candidates(all, p))
	if !enough {
		p.why = m.waitsFor(p, all)
	}
	for _, v := range victims {
		m.markLeaving(v.Name, all)
	}
	m.mu.Unlock()
	evicted := false
	for _, v := range victims {
		evicted = m.evict(v.Name, Pressure, "its memory was needed for model '"+p.name+"'", all) || evicted
	}
	return nil, evicted, nil
}

// needOf returns the memory that a load needs for the members that are not loaded now. With shared it
// leaves out what other loads have reserved: two ensembles may need the same step. The caller holds
// m.mu.
func (m *Manager) needOf(t Target, all []Model, shared bool) evict.Bytes {
	need := evict.Bytes{}
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
func addTo(b, other evict.Bytes) {
	for d, n := range other {
		b[d] += n
	}
}

// used returns the memory that is in use or reserved, with what is about to be freed. The caller
// holds m.mu.
func (m *Manager) used(all []Model, freed evict.Bytes) evict.Bytes {
	used := evict.Bytes{}
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
func (m *Manager) freed() evict.Bytes {
	m.closing = slices.DeleteFunc(m.closing, func(c closing) bool { return !c.pending() })
	sum := evict.Bytes{}
	for _, c := range m.closing {
		addTo(sum, c.bytes)
	}
	return sum
}

// take reserves the memory of a load. The caller holds m.mu.
func (m *Manager) take(t Target, all []Model) (free func()) {
	for _, member := range t.Members {
		r := m.reserved[member.Name]
		if r == nil {
			r = &reservation{}
			m.reserved[member.Name] = r
		}
		if !isLoaded(all, member.Name) {
			r.bytes = member.Need
		}
		r.loads++
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, member := range t.Members {
			r := m.reserved[member.Name]
			if r.loads--; r.loads == 0 {
				delete(m.reserved, member.Name)
			}
		}
		m.wake()
	}
}

// candidates returns the models that may be evicted for a load, the one to evict first at the
// beginning. The caller holds m.mu.
func (m *Manager) candidates(all []Model, p *place) []evict.Candidate {
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
	list := make([]evict.Candidate, 0, len(names))
	for _, name := range names {
		list = append(list, evict.Candidate{Name: name, Frees: by[name].Bytes})
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
func (m *Manager) fixed(all []Model, p *place) evict.Bytes {
	sum := evict.Bytes{}
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

// cannotFit returns the error of a load for which there will never be memory.
func (m *Manager) cannotFit(p *place, all []Model) error {
	m.counts.TooLarge++
	text := fmt.Sprintf("model '%s' needs %s, and the memory budget is %s (--memory-budget)", p.name, Text(p.need), Text(m.opts.Budget))
	if held := m.holders(p, all, func(l *Model) bool { return l.Lasting || m.pinned(l, all) }); held != "" {
		text += "; in use for good: " + held
	}
	return status.New(status.Unavailable, "%s", text)
}

// waitsFor describes what a load waits for.
func (m *Manager) waitsFor(p *place, all []Model) string {
	held := m.holders(p, all, func(*Model) bool { return true })
	if held == "" {
		held = "loads under way"
	}
	return fmt.Sprintf("it needs %s, the memory budget is %s (--memory-budget), in use: %s", Text(p.need), Text(m.opts.Budget), held)
}

// maxHolders bounds the models in the text of an error.
const maxHolders = 8

// holders lists the models that hold memory which a load needs.
func (m *Manager) holders(p *place, all []Model, which func(*Model) bool) string {
	var texts []string
	for i := range all {
		l := &all[i]
		if !which(l) || !share(l.Bytes, p.need) {
			continue
		}
		state := "idle"
		switch {
		case m.pinned(l, all):
			state = "pinned"
		case l.Lasting:
			state = "its files came with the load"
		case l.Busy:
			state = "works"
		case m.kept(l, all, p):
			state = "in use by an ensemble or a load"
		}
		texts = append(texts, fmt.Sprintf("%s (%s, %s)", l.Name, Text(l.Bytes), state))
	}
	if more := len(texts) - maxHolders; more > 0 {
		texts = append(texts[:maxHolders], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// share reports whether two models use memory of the same device.
func share(a, b evict.Bytes) bool {
	for d, n := range a {
		if n > 0 && b[d] > 0 {
			return true
		}
	}
	return false
}

// Text writes bytes for people: "20.0 MiB", with the device unless it is the host.
func Text(b evict.Bytes) string {
	var parts []string
	for _, d := range slices.Sorted(maps.Keys(b)) {
		text := fmt.Sprintf("%.1f MiB", float64(b[d])/(1<<20))
		if d != evict.Host {
			text += " of " + string(d)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "no memory"
	}
	return strings.Join(parts, " and ")
}

// Admit runs the load of a client when there is memory for it.
func (m *Manager) Admit(ctx context.Context, name string, t Target, load func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, m.opts.Timeout, errExpired)
	defer cancel()
	defer context.AfterFunc(m.life, cancel)()
	f := &flight{name: name}
	free, err := m.reserve(ctx, name, t, f)
	if err != nil {
		if ctx.Err() != nil {
			return m.gaveUp(ctx, f)
		}
		return err
	}
	defer free()
	if err := load(); err != nil {
		return err
	}
	return m.loaded(name, t, nil)
}
