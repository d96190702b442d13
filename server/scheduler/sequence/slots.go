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

// takeFree removes and returns the free slot with the lowest number over all instances;
// nil when there is none. Slots are created on demand, because max_candidate_sequences may be very
// large.
func (s *Source) takeFree() *slot {
	var next *instance // that whose next slot has the lowest number
	for _, inst := range s.mu.instances {
		if n := len(inst.slots); !inst.retired && !inst.leaving && n < s.slots && (next == nil || n < len(next.slots)) {
			next = inst
		}
	}
	if f := s.mu.free; len(f) > 0 && (next == nil || f[0].number <= len(next.slots)) {
		return heap.Pop(&s.mu.free).(*slot)
	}
	if next == nil {
		return nil
	}
	l := &slot{instance: next, number: len(next.slots)}
	next.slots = append(next.slots, l)
	return l
}

// removeInstance removes the slots of an instance that is broken or removed.
func (u *freeSlots) removeInstance(inst *instance) {
	*u = slices.DeleteFunc(*u, func(l *slot) bool { return l.instance == inst })
	heap.Init(u)
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
		if l.instance.retired || l.instance.leaving || !s.assignFromBacklog(l) {
			return
		}
	}
}

// assignFromBacklog gives a free slot to the backlog, and reports whether a sequence took
// it.
func (s *Source) assignFromBacklog(l *slot) bool {
	seq := s.mu.backlog.pop()
	if seq == nil {
		heap.Push(&s.mu.free, l)
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

// freeSlots holds the free sequence slots that were used before: a heap by slot number, then by
// instance.
type freeSlots []*slot

func (u freeSlots) Len() int { return len(u) }

func (u freeSlots) Less(i, j int) bool {
	if u[i].number != u[j].number {
		return u[i].number < u[j].number
	}
	return u[i].instance.instanceSlot.Index < u[j].instance.instanceSlot.Index
}

func (u freeSlots) Swap(i, j int) { u[i], u[j] = u[j], u[i] }

// Push implements heap.Interface.
func (u *freeSlots) Push(x any) { *u = append(*u, x.(*slot)) }

// Pop implements heap.Interface.
func (u *freeSlots) Pop() any {
	last := len(*u) - 1
	l := (*u)[last]
	*u = (*u)[:last]
	return l
}
