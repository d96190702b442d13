package ondemand

import (
	"fmt"
	"slices"
	"time"
)

// Reason is why a model was evicted.
type Reason string

// The reasons, as in the metrics.
const (
	Pressure Reason = "memory"     // another model needed the memory
	Excess   Reason = "budget"     // the loaded models had grown beyond the budget
	Expired  Reason = "keep_alive" // it was idle for its keep-alive time
)

// usage is when a model was used.
type usage struct {
	uses uint64
	at   time.Time // of the last use, as far as it was noticed
}

// sample notices which models were used. The caller holds m.mu.
func (m *Manager) sample(all []Model) {
	now := time.Now()
	for i := range all {
		l := &all[i]
		u := m.usage[l.Name]
		if u == nil {
			u = &usage{at: now}
			m.usage[l.Name] = u
			m.book.Loaded(l.Name, l.Bytes, l.LoadTime, l.Priority)
		}
		n := l.Uses - u.uses
		if l.Uses < u.uses { // it was loaded again
			n = l.Uses
		}
		if u.uses = l.Uses; n > 0 || l.Busy {
			u.at = now
		}
		m.book.Used(l.Name, n)
	}
}

// markLeaving lets no load rely on a model and the ensembles that need it until evict has returned,
// and counts their memory until then. The caller holds m.mu.
func (m *Manager) markLeaving(name string, all []Model) {
	l := find(all, name)
	m.leaving[name] = l.Bytes
	for _, user := range l.With {
		m.leaving[user] = Bytes{}
	}
}

// find returns the model of a name, which is there.
func find(all []Model, name string) *Model {
	return &all[slices.IndexFunc(all, func(l Model) bool { return l.Name == name })]
}

// evict unloads a model and the ensembles that need it. It returns false if one of them is busy.
func (m *Manager) evict(name string, why Reason, text string, all []Model) bool {
	l := find(all, name)
	pending, unloaded := m.opts.Models.Unload(name)
	if unloaded {
		m.opts.Log.Info(fmt.Sprintf("model '%s' is unloaded: %s", name, text), "frees", Text(l.Bytes))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, model := range append([]string{name}, l.With...) {
		delete(m.leaving, model)
		if !unloaded {
			continue
		}
		m.reasons[model] = text
		delete(m.usage, model)
		if why != Expired {
			m.recent.evicted(now, model)
		}
	}
	if !unloaded {
		return false
	}
	m.closing = append(m.closing, closing{l.Bytes, pending})
	m.counts.Evictions[why]++
	if why != Expired {
		m.book.Evicted(name)
	}
	m.wake()
	return true
}

// UnloadReason returns why a model was unloaded; empty if it is loaded or was not loaded before.
func (m *Manager) UnloadReason(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reasons[name]
}

// Start begins the keep-alive times.
func (m *Manager) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(m.keep)
}

// keep unloads the models whose keep-alive time is over, and idle models while the loaded ones
// exceed the budget.
func (m *Manager) keep() {
	timer := time.NewTimer(sweepInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-m.life.Done():
			return
		}
		timer.Reset(m.sweep())
	}
}

// sweep returns the time until the next sweep.
func (m *Manager) sweep() time.Duration {
	all := m.opts.Models.Loaded()
	m.mu.Lock()
	m.sample(all)
	now, next := time.Now(), sweepInterval
	var expired []string
	for i := range all {
		l := &all[i]
		after := m.opts.KeepAlive
		if l.KeepAlive != nil {
			after = *l.KeepAlive
		}
		if after < 0 || l.Busy || m.kept(l, all, nil) || m.needed(l, all) {
			continue
		}
		left := m.usage[l.Name].at.Add(after).Sub(now)
		if left <= 0 {
			expired = append(expired, l.Name)
			left = after / 4
		}
		next = max(min(next, left), minSweep)
	}
	var over []candidate
	if len(m.queue) == 0 {
		over, _ = choose(m.excess(all), m.candidates(all, nil))
	}
	for _, name := range expired {
		m.markLeaving(name, all)
	}
	for _, v := range over {
		m.markLeaving(v.Name, all)
	}
	m.mu.Unlock()
	for _, name := range expired {
		m.evict(name, Expired, "it was idle for its keep-alive time", all)
	}
	for _, v := range over {
		m.evict(v.Name, Excess, "the loaded models exceed the memory budget", all)
	}
	return next
}

// needed reports whether a loaded ensemble needs a model: its own keep-alive time decides.
func (m *Manager) needed(l *Model, all []Model) bool {
	return slices.ContainsFunc(l.With, func(name string) bool { return isLoaded(all, name) })
}

// excess returns by how much the loaded models exceed the budget. The caller holds m.mu.
func (m *Manager) excess(all []Model) Bytes {
	used := m.used(all, nil)
	over := Bytes{}
	for d, limit := range m.opts.Budget {
		if n := used[d] - limit; n > 0 {
			over[d] = n
		}
	}
	return over
}
