package scheduler

import (
	"iter"
	"slices"
)

// Add adds the slot of a further instance. The errors are those of RateLimiter.Add.
func (g *RateGate) Add(index int, in LimitedInstance) error {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	if err := g.put(index, in); err != nil {
		return err
	}
	g.limiter.changed()
	return nil
}

// Remove removes the slot of an instance that is closed.
func (g *RateGate) Remove(index int) {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	s := g.slot(index)
	g.limiter.withdraw(s)
	g.set(index, nil)
	g.limiter.changed()
}

// put makes the slot of an instance. The caller holds the limiter's lock and calls changed.
func (g *RateGate) put(index int, in LimitedInstance) error {
	s := &gateSlot{demands: resourceDemands(in), priority: uint64(max(in.Priority, 1)), granted: make(chan struct{}, 1), place: -1}
	if err := g.limiter.check(g, s); err != nil {
		return err
	}
	s.runs.Store(initialRuns)
	g.set(index, s)
	return nil
}

// slot returns the slot of an index that is in use.
func (g *RateGate) slot(index int) *gateSlot { return (*g.slots.Load())[index] }

// set replaces the slot of an index. Slots are read without the lock, so the list is copied.
func (g *RateGate) set(index int, s *gateSlot) {
	all := slices.Clone(*g.slots.Load())
	for len(all) <= index {
		all = append(all, nil)
	}
	all[index] = s
	g.slots.Store(&all)
}

// all returns the slots in use.
func (g *RateGate) all() iter.Seq[*gateSlot] {
	return func(yield func(*gateSlot) bool) {
		for _, s := range *g.slots.Load() {
			if s != nil && !yield(s) {
				return
			}
		}
	}
}

// conflicts reports whether a slot needs the resource of k in the other scope.
func (g *RateGate) conflicts(k poolKey) bool {
	for s := range g.all() {
		if s.conflicts(k) {
			return true
		}
	}
	return false
}
