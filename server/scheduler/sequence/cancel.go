package sequence

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Withdraw removes a waiting request that was cancelled, and the later requests of its
// sequence: without it the sequence would not be in the state that their client expects.
// A sequence in the backlog is removed with all its requests.
func (s *Source) Withdraw(r *infer.Request) bool {
	s.mu.Lock()
	if !r.Move(infer.Queued, infer.Executing) {
		s.mu.Unlock()
		return false
	}
	q := r.Membership.Sequence.(*sequence)
	l := q.slot
	s.cancel(q, r)
	if l != nil {
		s.wakeIfDue(l.instance)
	}
	s.unlock()
	return true
}

// cancel ends a sequence at one of its waiting requests.
func (s *Source) cancel(q *sequence, r *infer.Request) {
	l := q.slot
	if l == nil {
		s.failSequence(q, errCancelled, stats.Canceled)
		return
	}
	if l.queued == r {
		s.unqueue(l)
		s.failQueued(r, errCancelled(r), stats.Canceled)
		r = q.waiting.Front()
	}
	s.unregister(q)
	s.failFrom(q, r, errCancelled, stats.Canceled)
	s.vacateIfEnded(l)
	s.strategy.arrive(s, l)
}

// errCancelled returns the error for a cancelled request. It has no text, as in Triton.
func errCancelled(*infer.Request) error { return status.New(status.Cancelled, "") }
