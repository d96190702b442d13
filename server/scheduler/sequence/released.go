package sequence

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Released records that a backend is done with a request, so that the next one of its
// sequence may run. A request of an iterative sequence either runs again, as the next one
// of its sequence, or ends it.
func (s *Source) Released(r *infer.Request) bool {
	seq, ok := r.Membership.Sequence.(*sequence)
	if !ok {
		return false // a null request
	}
	r.Membership.Sequence, r.Membership.States = nil, nil
	s.mu.Lock()
	l := seq.slot
	l.running--
	again := r.Rescheduled()
	switch {
	case again:
		s.requeue(seq, r)
	case s.iterative:
		s.unregister(seq)
	}
	s.release(seq)
	s.advance(l)
	s.unlock()
	return again
}

// advance continues a slot after one of its requests has ended: it frees the slot if the
// sequence has ended too, offers the next request to the strategy, and wakes the instance if
// a batch is due.
func (s *Source) advance(l *slot) {
	s.vacateIfEnded(l)
	s.strategy.arrive(s, l)
	s.wakeIfDue(l.instance)
}

// requeue enqueues a rescheduled request.
func (s *Source) requeue(seq *sequence, r *infer.Request) {
	r.PrepareRequeue()
	r.DropExtras()
	r.SequenceStart, r.SequenceEnd = false, false
	now := infer.Now()
	r.Times.Queued = now
	switch {
	case s.mu.aborted:
		s.fail(r, errStopping(r), stats.Other)
	case seq.slot.instance.retired:
		s.fail(r, errLost(r), stats.Other)
	case !seq.known:
		s.fail(r, errNotStarted(seq.id, s.model), stats.Other)
	default:
		s.join(seq, r, now)
		if !r.Enter(s) {
			r.TakeFromQueue()
			s.cancel(seq, r)
		}
	}
}
