package sequence

import (
	"container/heap"
	"slices"

	"triton/server/infer"
)

// slot is a sequence slot of an instance. One sequence at a time has it.
type slot struct {
	instance *instance
	number   int
	seq      *sequence      // nil: free
	queued   *infer.Request // with oldest: the request in the instance's queue
	// running counts requests from the time they enter a batch, or with oldest the
	// instance's queue, until the backend is done with them.
	running int
}

// freeSlots holds the free sequence slots: a heap of those that were used before, and a
// count of the slots ever created. Slots are created on demand, because
// max_candidate_sequences may be very large.
type freeSlots struct {
	used   usedSlots
	unused int // next slot to create: slot 0 of each instance, then slot 1 of each, and so on
}

// takeFree removes and returns the free slot with the lowest number over all instances;
// nil when there is none.
func (s *Source) takeFree() *slot {
	f := &s.mu.free
	if len(f.used) > 0 {
		return heap.Pop(&f.used).(*slot)
	}
	for f.unused < s.slots*len(s.instances) {
		inst := s.instances[f.unused%len(s.instances)]
		l := &slot{instance: inst, number: f.unused / len(s.instances)}
		f.unused++
		inst.slots = append(inst.slots, l)
		if !inst.retired { // otherwise Restore adds it
			return l
		}
	}
	return nil
}

// removeInstance removes the slots of a broken instance.
func (f *freeSlots) removeInstance(inst *instance) {
	f.used = slices.DeleteFunc(f.used, func(l *slot) bool { return l.instance == inst })
	heap.Init(&f.used)
}

// assign gives a slot to a sequence.
func (s *Source) assign(l *slot, seq *sequence) {
	l.seq, seq.slot = seq, l
	l.instance.occupied++
	s.mu.slotsInUse++
}

// vacateIfEnded frees a slot whose sequence has ended, and gives it to the backlog.
func (s *Source) vacateIfEnded(l *slot) {
	for l.seq != nil && s.ended(l) {
		s.vacate(l)
		if l.instance.retired || !s.assignFromBacklog(l) {
			return
		}
	}
}

// assignFromBacklog gives a free slot to the backlog, and reports whether a sequence took
// it.
func (s *Source) assignFromBacklog(l *slot) bool {
	seq := s.mu.backlog.pop()
	if seq == nil {
		heap.Push(&s.mu.free.used, l)
		return false
	}
	s.assign(l, seq)
	s.touch(seq, infer.Now()) // time in the backlog is not idle time
	s.strategy.arrive(s, l)
	return true
}

// ended reports whether the sequence in a slot has ended. With direct it ends when its last
// request is in a batch: the request of another sequence then gets this row in the next
// batch. With oldest it ends when the backend is done with its last request; earlier,
// another sequence could only wait in the slot.
func (s *Source) ended(l *slot) bool {
	seq := l.seq
	if seq.waiting.Len() > 0 || l.running > 0 && !s.strategy.freesEarly() {
		return false
	}
	return !seq.known || s.mu.closed && l.running == 0
}

// vacate ends the use of a slot by its sequence.
func (s *Source) vacate(l *slot) {
	seq := l.seq
	s.unregister(seq)
	l.seq = nil
	l.instance.occupied--
	s.mu.slotsInUse--
	s.release(seq)
}

// usedSlots is a heap by slot number, then by instance.
type usedSlots []*slot

func (u usedSlots) Len() int { return len(u) }

func (u usedSlots) Less(i, j int) bool {
	if u[i].number != u[j].number {
		return u[i].number < u[j].number
	}
	return u[i].instance.instanceSlot.Index < u[j].instance.instanceSlot.Index
}

func (u usedSlots) Swap(i, j int) { u[i], u[j] = u[j], u[i] }

// Push implements heap.Interface.
func (u *usedSlots) Push(x any) { *u = append(*u, x.(*slot)) }

// Pop implements heap.Interface.
func (u *usedSlots) Pop() any {
	last := len(*u) - 1
	l := (*u)[last]
	*u = (*u)[:last]
	return l
}
