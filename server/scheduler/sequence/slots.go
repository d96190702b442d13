package sequence

import (
	"container/heap"
	"slices"

	"triton/server/infer"
)

// slot is a place on one instance that one sequence at a time has.
type slot struct {
	bench  *bench
	number int
	seq    *sequence      // nil: free
	lined  *infer.Request // with oldest: what was handed over and does not run yet
	// running counts the requests that were handed over and that the engine is
	// not done with.
	running int
}

// free is the free slots: a heap of those that were used before, and the number
// of the first that never was. Slots are made when they are needed, as
// max_candidate_sequences may be any number.
type free struct {
	used  usedSlots
	fresh int // counts through all instances: slot 0 of each, then slot 1 of each
}

// take is the free slot with the lowest number over all instances; nil when
// there is none.
func (s *Source) take() *slot {
	f := &s.mu.free
	if len(f.used) > 0 {
		return heap.Pop(&f.used).(*slot)
	}
	for f.fresh < s.slots*len(s.benches) {
		b := s.benches[f.fresh%len(s.benches)]
		l := &slot{bench: b, number: f.fresh / len(s.benches)}
		f.fresh++
		b.slots = append(b.slots, l)
		if !b.dead { // else Restore finds it
			return l
		}
	}
	return nil
}

// drop takes the slots of a broken instance out.
func (f *free) drop(b *bench) {
	f.used = slices.DeleteFunc(f.used, func(l *slot) bool { return l.bench == b })
	heap.Init(&f.used)
}

// assign gives a slot to a sequence.
func (s *Source) assign(l *slot, q *sequence) {
	l.seq, q.slot = q, l
	l.bench.held++
	s.mu.held++
}

// settle gives a slot up when nothing more comes of its sequence, and lets the
// backlog have it.
func (s *Source) settle(l *slot) {
	for l.seq != nil && s.ended(l) {
		s.vacate(l)
		if l.bench.dead || !s.offer(l) {
			return
		}
	}
}

// offer gives a free slot to the backlog, and reports whether a sequence took it.
func (s *Source) offer(l *slot) bool {
	q := s.mu.backlog.pop()
	if q == nil {
		heap.Push(&s.mu.free.used, l)
		return false
	}
	s.assign(l, q)
	s.touch(q, infer.Now()) // while it waited it was not its client that was idle
	s.strategy.arrive(s, l)
	return true
}

// ended says whether nothing more comes of the sequence in a slot. With direct the
// slot is free as soon as the last request has its row: the next batch is made
// when this one has run. With oldest another sequence would only wait there.
func (s *Source) ended(l *slot) bool {
	q := l.seq
	if q.waiting.Len() > 0 || l.running > 0 && !s.strategy.early() {
		return false
	}
	return !q.known || s.mu.closed && l.running == 0
}

func (s *Source) vacate(l *slot) {
	q := l.seq
	s.forget(q)
	l.seq = nil
	l.bench.held--
	s.mu.held--
	s.unuse(q)
}

// usedSlots is a heap by slot number, then by instance.
type usedSlots []*slot

func (u usedSlots) Len() int { return len(u) }

func (u usedSlots) Less(i, j int) bool {
	if u[i].number != u[j].number {
		return u[i].number < u[j].number
	}
	return u[i].bench.seat.Index < u[j].bench.seat.Index
}

func (u usedSlots) Swap(i, j int) { u[i], u[j] = u[j], u[i] }

// Push is for container/heap.
func (u *usedSlots) Push(x any) { *u = append(*u, x.(*slot)) }

// Pop is for container/heap.
func (u *usedSlots) Pop() any {
	last := len(*u) - 1
	l := (*u)[last]
	*u = (*u)[:last]
	return l
}
