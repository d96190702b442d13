package sequence

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Withdraw takes a request out that nobody waits for any more, and with it those
// that follow in its sequence: they would find another state than their client
// expects. In the backlog all requests of the sequence go.
func (s *Source) Withdraw(r *infer.Request) bool {
	s.mu.Lock()
	if !r.Move(infer.Queued, infer.Executing) {
		s.mu.Unlock()
		return false
	}
	q := r.Member.Of.(*sequence)
	l := q.slot
	s.cancel(q, r)
	if l != nil {
		s.check(l.bench)
	}
	s.unlock()
	return true
}

// cancel ends a sequence at one of its requests that waits.
func (s *Source) cancel(q *sequence, r *infer.Request) {
	l := q.slot
	if l == nil {
		s.dismiss(q, errCancelled, stats.Canceled)
		return
	}
	if l.lined == r {
		s.unline(l)
		s.drop(r, errCancelled(r), stats.Canceled)
		r = q.waiting.Front()
	}
	s.forget(q)
	s.failFrom(q, r, errCancelled, stats.Canceled)
	s.settle(l)
	s.strategy.arrive(s, l)
}

// errCancelled has no text, as Triton's.
func errCancelled(*infer.Request) error { return status.New(status.Cancelled, "") }
