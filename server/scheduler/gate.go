package scheduler

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// RateGate implements Gate for one model version. Only one goroutine at a time may
// use a slot.
type RateGate struct {
	limiter *RateLimiter
	slots   atomic.Pointer[[]*gateSlot] // by index, nil where none is; replaced under the limiter's lock
	abort   sync.Once
	aborted chan struct{}
}

var _ Gate = (*RateGate)(nil)

// gateSlot is the instance slot of one instance.
//
//	from     event                                            to
//	idle     Acquire                                          staged
//	staged   first in the queue and all its resources free    running
//	staged   Abort, or the end of the context                 idle
//	running  Release                                          idle
//	running  Acquire                                          staged
type gateSlot struct {
	demands  []resourceDemand
	priority uint64
	runs     atomic.Uint64
	granted  chan struct{} // receives when the slot may run

	// The limiter's lock guards these.
	running bool
	place   int    // in staged; -1 when not in it
	weight  uint64 // when it was staged
	arrival uint64 // of slots with the same weight
}

// byWeight orders slots by their weights, the lowest first; with the same weight the one that has
// waited longest.
type byWeight struct{}

// Before implements HeapOrder.
func (byWeight) Before(a, b *gateSlot) bool {
	if a.weight != b.weight {
		return a.weight < b.weight
	}
	return a.arrival < b.arrival
}

// Index implements HeapOrder.
func (byWeight) Index(s *gateSlot) *int { return &s.place }

// conflicts reports whether k is global and the slot needs a resource of that name on a
// device, or the other way round.
func (s *gateSlot) conflicts(k poolKey) bool {
	return slices.ContainsFunc(s.demands, func(d resourceDemand) bool {
		return d.name == k.name && (d.device == globalPool) != (k.device == globalPool)
	})
}

// Acquire waits for a grant. If the slot still holds one, Acquire first releases it as used.
// It returns false after Abort.
func (g *RateGate) Acquire(i int) bool {
	return g.Wait(context.Background(), i) == nil
}

// Wait is Acquire with a context. It returns the cause of ctx when ctx ends, and
// context.Canceled after Abort.
func (g *RateGate) Wait(ctx context.Context, i int) error {
	s := g.slot(i)
	g.stage(s)
	select { // first: a grant wins over an abort
	case <-s.granted:
		return nil
	default:
	}
	select {
	case <-s.granted:
		return nil
	case <-g.aborted:
		g.cancelWait(s)
		return context.Canceled
	case <-ctx.Done():
		g.cancelWait(s)
		return context.Cause(ctx)
	}
}

// stage releases the slot's grant and adds the slot to the waiting ones.
func (g *RateGate) stage(s *gateSlot) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.running {
		s.release(true)
	}
	select {
	case <-g.aborted: // the slot does not enter the queue
	default:
		l.arrivals++
		s.weight, s.arrival = s.currentWeight(), l.arrivals
		heap.Push(&l.staged, s)
	}
	l.grantNext()
}

// cancelWait ends the wait of a slot. If the slot was granted meanwhile, the grant is
// released as unused.
func (g *RateGate) cancelWait(s *gateSlot) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.running {
		<-s.granted
	}
	l.withdraw(s)
	l.grantNext()
}

// Release releases a grant. If ran is set, the slot has run once more.
func (g *RateGate) Release(i int, ran bool) {
	s, l := g.slot(i), g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.running {
		s.release(ran)
		l.grantNext()
	}
}

// Weight returns how often a slot has run, times its priority.
func (g *RateGate) Weight(i int) uint64 { return g.slot(i).currentWeight() }

func (s *gateSlot) currentWeight() uint64 { return s.runs.Load() * s.priority }

// Abort ends all waits of the version's slots.
func (g *RateGate) Abort() { g.abort.Do(func() { close(g.aborted) }) }

// Close removes the version and its resources.
func (g *RateGate) Close() {
	g.Abort()
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range g.all() {
		l.withdraw(s)
	}
	l.gates = slices.DeleteFunc(l.gates, func(o *RateGate) bool { return o == g })
	l.changed()
}

// withdraw releases the grant of a slot, or ends its wait.
func (l *RateLimiter) withdraw(s *gateSlot) {
	if s.running {
		s.release(false)
	}
	if s.place >= 0 {
		heap.Remove(&l.staged, s.place)
	}
}

// release returns the resources of a running slot.
func (s *gateSlot) release(ran bool) {
	s.running = false
	for _, d := range s.demands {
		d.pool.used -= d.count
	}
	if ran {
		s.runs.Add(1)
	}
}

// tryGrant takes all resources that a slot needs, or none.
func (s *gateSlot) tryGrant() bool {
	for _, d := range s.demands {
		if d.count > d.pool.size-min(d.pool.used, d.pool.size) {
			return false
		}
	}
	for _, d := range s.demands {
		d.pool.used += d.count
	}
	s.running = true
	s.granted <- struct{}{}
	return true
}

// grantNext grants slots from the front of the queue as long as their resources are free.
func (l *RateLimiter) grantNext() {
	for len(l.staged) > 0 && l.staged[0].tryGrant() {
		heap.Pop(&l.staged)
	}
}
