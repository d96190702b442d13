package scheduler

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Enqueue accepts a request; the core's reference moves into the queue unless
// there is an error. A caller that can run a batch itself sets run: it gets a
// seat when everything that waits, its request among it, is due at once as one
// batch, and must give it back with Done.
func (q *Queue) Enqueue(r *infer.Request, run bool) (*Seat, error) {
	now := infer.Now()
	r.Times.Queued = now
	q.mu.Lock()
	if err := q.admit(r, now); err != nil {
		q.unlock()
		return nil, err
	}
	q.stats.Pending.Add(1)
	if !r.Enter(q) {
		q.withdraw(r)
		return nil, nil
	}
	seat, cut := q.choose(now)
	if seat == nil {
		q.unlock()
		return nil, nil
	}
	if run && q.inline() && cut.Count == q.mu.line.Len() {
		q.fill(seat, cut)
		q.unlock()
		return q.handOver(seat), nil
	}
	q.mu.woken++
	q.unlock()
	seat.wake <- struct{}{}
	return nil, nil
}

// inline says whether callers may run batches: not when each waits for the gate,
// and not when their answers wait for each other.
func (q *Queue) inline() bool { return q.gate == nil && q.order == nil }

// handOver is the seat for the caller to run, unless everything in its batch
// was cancelled meanwhile.
func (q *Queue) handOver(s *Seat) *Seat {
	q.drop(s)
	if len(s.Batch.Requests) == 0 {
		q.Done(s)
		return nil
	}
	return s
}

// admit puts a request in the line, unless the queue takes no more.
func (q *Queue) admit(r *infer.Request, now int64) error {
	switch {
	case q.mu.closed:
		return Stopping(r)
	case q.mu.alive == 0:
		return ErrDead(r)
	}
	q.expire(now) // makes room
	return q.mu.line.Push(r, now)
}

// Stopping is the error of a request that a drain leaves behind.
func Stopping(r *infer.Request) error {
	return status.New(status.Unavailable, "%sServer is stopping, scheduler for model has stopped accepting new inference requests", r.Tag())
}

// errCancelled has no text, as Triton's.
func errCancelled() error { return status.New(status.Cancelled, "") }

// ErrDead is the error of a request when all instances of its model are broken.
func ErrDead(r *infer.Request) error {
	return status.New(status.Unavailable, "%smodel '%s' has no working instance left; it is restarted, or reload the model", r.Tag(), r.ModelName)
}

// Withdraw takes a request out that nobody waits for any more and answers it
// with Cancelled. False when it does not wait: it is running or was answered,
// and its core reference is with whoever does that.
func (q *Queue) Withdraw(r *infer.Request) bool {
	q.mu.Lock()
	return q.withdraw(r)
}

// withdraw unlocks.
func (q *Queue) withdraw(r *infer.Request) bool {
	if !r.Move(infer.Queued, infer.Executing) {
		q.mu.Unlock()
		return false
	}
	q.mu.line.Remove(r)
	// What is left may be due now: another total, another follower.
	q.unlockAndWake(infer.Now())
	q.stats.Pending.Add(-1)
	q.fail(r, errCancelled(), stats.Canceled)
	return true
}

// fail answers a request that never ran and gives the core's reference back.
func (q *Queue) fail(r *infer.Request, err error, why stats.Failure) {
	q.stats.Fail(why, infer.Now()-r.Times.Received)
	r.Fail(err)
	r.Release()
}
