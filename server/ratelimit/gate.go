package ratelimit

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"triton/server/scheduler"
)

// Gate is the seats of one model version. Each seat is used by one goroutine at
// a time.
type Gate struct {
	limiter *Limiter
	seats   []*seat
	abort   sync.Once
	aborted chan struct{}
}

var _ scheduler.Gate = (*Gate)(nil)

// seat is one instance.
//
//	from     event                              to
//	idle     Acquire                            staged
//	staged   first in the queue, and all free   running
//	staged   Abort, or the end of the context   idle
//	running  Release                            idle
//	running  Acquire                            staged
type seat struct {
	demands  []demand
	priority uint64
	runs     atomic.Uint64
	turn     chan struct{} // gets one when the seat begins to run

	// Under the limiter's lock.
	running bool
	place   int    // in staged; -1 when not there
	weight  uint64 // when it was staged
	order   uint64 // of seats of one weight
}

func (s *seat) clashes(k key) bool {
	return slices.ContainsFunc(s.demands, func(d demand) bool {
		return d.name == k.name && (d.device == global) != (k.device == global)
	})
}

// Acquire waits for a turn of a seat, which gives up the turn that it may still
// have, as one that was used. False after Abort.
func (g *Gate) Acquire(i int) bool {
	return g.Wait(context.Background(), i) == nil
}

// Wait is Acquire for somebody who may give up. The error is that of ctx, or
// context.Canceled after Abort.
func (g *Gate) Wait(ctx context.Context, i int) error {
	s := g.seats[i]
	g.stage(s)
	select {
	case <-s.turn:
		return nil
	default:
	}
	select {
	case <-s.turn:
		return nil
	case <-g.aborted:
		g.leave(s)
		return context.Canceled
	case <-ctx.Done():
		g.leave(s)
		return context.Cause(ctx)
	}
}

func (g *Gate) stage(s *seat) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.running {
		s.end(true)
	}
	select {
	case <-g.aborted: // the seat stays out of the queue
	default:
		l.orders++
		s.weight, s.order = s.heft(), l.orders
		heap.Push(&l.staged, s)
	}
	l.allot()
}

// leave ends the wait of a seat, which may have got its turn at that moment.
func (g *Gate) leave(s *seat) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.running {
		<-s.turn
		s.end(false)
	}
	if s.place >= 0 {
		heap.Remove(&l.staged, s.place)
	}
	l.allot()
}

// Release ends a turn; it counts when it was used.
func (g *Gate) Release(i int, ran bool) {
	s, l := g.seats[i], g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.running {
		s.end(ran)
		l.allot()
	}
}

// Weight is how often a seat has run, times its priority.
func (g *Gate) Weight(i int) uint64 { return g.seats[i].heft() }

func (s *seat) heft() uint64 { return s.runs.Load() * s.priority }

// Abort ends all waits of the version's seats.
func (g *Gate) Abort() { g.abort.Do(func() { close(g.aborted) }) }

// Close takes the version out: it needs no resources any more.
func (g *Gate) Close() {
	g.Abort()
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range g.seats {
		if s.running {
			s.end(false)
		}
		if s.place >= 0 {
			heap.Remove(&l.staged, s.place)
		}
	}
	l.gates = slices.DeleteFunc(l.gates, func(o *Gate) bool { return o == g })
	l.measure()
	l.allot()
}

// end gives back what a running seat holds.
func (s *seat) end(ran bool) {
	s.running = false
	for _, d := range s.demands {
		d.pool.used -= d.count
	}
	if ran {
		s.runs.Add(1)
	}
}

// begin takes all that a seat needs, or nothing.
func (s *seat) begin() bool {
	for _, d := range s.demands {
		if d.count > d.pool.size-min(d.pool.used, d.pool.size) {
			return false
		}
	}
	for _, d := range s.demands {
		d.pool.used += d.count
	}
	s.running = true
	s.turn <- struct{}{}
	return true
}

// allot gives turns from the front of the queue as long as they fit.
func (l *Limiter) allot() {
	for len(l.staged) > 0 && l.staged[0].begin() {
		heap.Pop(&l.staged)
	}
}
