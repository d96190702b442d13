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
	if !r.TakeFromQueue() {
		s.mu.Unlock()
		return false
	}
	seq := r.Membership.Sequence.(*sequence)
	l := seq.slot
	s.cancel(seq, r)
	if l != nil {
		s.wakeIfDue(l.instance)
	}
	s.unlock()
	return true
}

// cancel ends a sequence at one of its waiting requests.
func (s *Source) cancel(seq *sequence, r *infer.Request) {
	l := seq.slot
	if l == nil {
		s.failSequence(seq, errCancelled, stats.Canceled)
		return
	}
	if l.queued == r {
		s.unqueue(l)
		s.failQueued(r, errCancelled(r), stats.Canceled)
		r = seq.waiting.Front()
	}
	s.unregister(seq)
	s.failFrom(seq, r, errCancelled, stats.Canceled)
	s.vacateIfEnded(l)
	s.strategy.arrive(s, l)
}

// errCancelled returns the error for a cancelled request. It has no text, as in Triton.
func errCancelled(*infer.Request) error { return status.New(status.Cancelled, "") }
