package sequence

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Released hears that an engine is done with a request. What follows in its
// sequence may go on. A request of an iterative sequence either runs again, as
// the next one of its sequence, or ends it.
func (s *Source) Released(r *infer.Request) bool {
	q, ok := r.Member.Of.(*sequence)
	if !ok {
		return false // a null request
	}
	r.Member.Of, r.Member.States = nil, nil
	s.mu.Lock()
	l := q.slot
	l.running--
	again := r.Rescheduled()
	switch {
	case again:
		s.again(q, r)
	case s.iterative:
		s.forget(q)
	}
	s.unuse(q)
	s.follow(l)
	s.unlock()
	return again
}

// follow goes on with a slot in which a request has ended.
func (s *Source) follow(l *slot) {
	s.settle(l)
	s.strategy.arrive(s, l)
	s.check(l.bench)
}

// again lets a request wait once more that its engine wants again.
func (s *Source) again(q *sequence, r *infer.Request) {
	r.Again()
	r.DropExtras()
	r.SequenceStart, r.SequenceEnd = false, false
	now := infer.Now()
	r.Times.Queued = now
	switch {
	case s.mu.aborted:
		s.fail(r, errStopping(r), stats.Other)
	case q.slot.bench.dead:
		s.fail(r, errLost(r), stats.Other)
	case !q.known:
		s.fail(r, errStart(q.id, s.model), stats.Other)
	default:
		s.join(q, r, now)
		if !r.Enter(s) {
			r.Move(infer.Queued, infer.Executing)
			s.cancel(q, r)
		}
	}
}
