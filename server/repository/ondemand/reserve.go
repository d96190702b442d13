package ondemand

import (
	"context"
	"slices"
	"time"
)

// place is the place of a load in the queue for memory. Only the first one evicts models.
type place struct {
	name     string
	priority int
	need     Bytes
	members  map[string]bool
	why      string // it waits
}

// reservation is memory for a load.
type reservation struct {
	bytes Bytes
	loads int // that use it
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
	lack := lackOf(m.opts.Budget, used, m.needOf(t, all, true))
	if lack.None() {
		defer m.mu.Unlock()
		return m.take(t, all), false, nil
	}
	if least := lackOf(m.opts.Budget, m.fixed(all, p), p.need); !least.None() {
		defer m.mu.Unlock()
		return nil, false, m.cannotFit(p, all)
	}
	lack.Add(freed, -1)
	victims, enough := choose(lack, m.candidates(all, p))
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

// WithRoom runs the load of a client when there is memory for it.
func (m *Manager) WithRoom(ctx context.Context, name string, t Target, load func() error) error {
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
