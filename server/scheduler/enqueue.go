package scheduler

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Enqueue accepts a request; the core's reference moves into the queue unless there is an
// error. It returns the slot to run, or nil: the request waits. A caller that can run a batch itself sets
// mayRun. It gets a slot when all waiting requests, its own among them, are due as one batch, and
// must return the slot with Done.
func (q *Queue) Enqueue(r *infer.Request, mayRun bool) (*Slot, error) {
	now := infer.Now()
	r.Times.Queued = now
	q.mu.Lock()
	if err := q.push(r, now); err != nil {
		q.unlockAndAnswer()
		return nil, err
	}
	q.stats.Pending.Add(1)
	if !r.Enter(q) {
		q.withdrawAndUnlock(r)
		return nil, nil
	}
	slot, decision := q.takeIdle(now)
	if slot == nil {
		q.unlockAndAnswer()
		return nil, nil
	}
	if mayRun && q.runsInline() && decision.Count == q.mu.waiting.Len() {
		q.fill(slot, decision, now)
		q.unlockAndAnswer()
		return q.handOver(slot), nil
	}
	q.mu.woken++
	q.unlockAndAnswer()
	slot.wake <- struct{}{}
	return nil, nil
}

// runsInline reports whether callers may run batches: not when slots wait for a gate or
// responses wait for each other.
func (q *Queue) runsInline() bool { return q.gate == nil && q.order == nil }

// handOver returns the slot for the caller to run, or nil when its whole batch was
// cancelled.
func (q *Queue) handOver(s *Slot) *Slot {
	q.failCancelled(s)
	if len(s.Batch.Requests) == 0 {
		q.Done(s)
		return nil
	}
	return s
}

// push adds a request to the queue, unless the queue is closed or full.
func (q *Queue) push(r *infer.Request, now int64) error {
	switch {
	case q.mu.closed:
		return ErrStopping(r)
	case q.mu.alive == 0:
		return ErrNoInstance(r)
	}
	q.expire(now) // timed-out requests do not count for the queue's limit
	err := q.mu.waiting.Push(r, now)
	if q.mu.waiting.Dropped().Len() > 0 {
		q.takeDropped()
	}
	return err
}

// ErrStopping returns the error for a request that is rejected because of a drain.
func ErrStopping(r *infer.Request) error {
	return status.New(status.Unavailable, "%sServer is stopping, scheduler for model has stopped accepting new inference requests", r.Tag())
}

// errCancelled returns the error for a cancelled request. It has no text, as in Triton.
func errCancelled() error { return status.New(status.Cancelled, "") }

// ErrNoInstance returns the error for a request whose model has only broken instances.
func ErrNoInstance(r *infer.Request) error {
	return status.New(status.Unavailable, "%smodel '%s' has no working instance left; wait for the restart, or reload the model", r.Tag(), r.ModelName)
}

// Withdraw removes a waiting request and answers it with Cancelled. It returns false when
// the request does not wait here: the goroutine that runs or answers it then owns the
// core's reference.
func (q *Queue) Withdraw(r *infer.Request) bool {
	q.mu.Lock()
	return q.withdrawAndUnlock(r)
}

// withdrawAndUnlock is Withdraw. The caller holds q.mu; withdrawAndUnlock releases it.
func (q *Queue) withdrawAndUnlock(r *infer.Request) bool {
	if !r.TakeFromQueue() {
		q.mu.Unlock()
		return false
	}
	q.mu.waiting.Remove(r)
	// The remaining requests may be due now: the total and the order have changed.
	q.unlockAndWake(infer.Now())
	q.stats.Pending.Add(-1)
	q.fail(r, errCancelled(), stats.Canceled)
	return true
}

// fail answers a request that never ran and releases the core's reference.
func (q *Queue) fail(r *infer.Request, err error, why stats.Failure) {
	q.stats.Fail(why, infer.Now()-r.Times.Received)
	r.Fail(err)
	r.Release()
}
