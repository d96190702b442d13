package scheduler

import (
	"time"

	"triton/server/infer"
	"triton/server/stats"
)

// evaluate expires requests and returns the policy's decision.
func (q *Queue) evaluate(now int64) Decision {
	q.expire(now)
	if q.mu.holdUntil > 0 {
		if q.mu.waiting.Len() < q.mu.holdUntil && !q.mu.closed {
			return Decision{}
		}
		q.mu.holdUntil = 0
	}
	decision := q.mu.waiting.Evaluate(now, q.mu.closed)
	if q.mu.waiting.Dropped().Len() > 0 {
		q.takeDropped()
	}
	return decision
}

// evaluateNow is evaluate at the current time. When nothing waits it does not read the
// clock.
func (q *Queue) evaluateNow() (decision Decision, now int64) {
	if q.mu.waiting.Len() == 0 {
		return Decision{}, 0
	}
	now = infer.Now()
	return q.evaluate(now), now
}

// takeIdle removes an idle slot when a batch is due, and otherwise sets the alarm. A slot
// that was already woken evaluates the queue itself, and then calls takeIdle for the
// remaining requests.
func (q *Queue) takeIdle(now int64) (*Slot, Decision) {
	n := len(q.mu.idle)
	if n == 0 || q.mu.woken > 0 {
		return nil, Decision{}
	}
	decision := q.evaluate(now)
	if decision.Count == 0 {
		q.setAlarm(decision.At, now)
		return nil, decision
	}
	// The slots that wait for the gate are expected to take a batch of this size each.
	if q.mu.waitingForGate > 0 && q.mu.waitingForGate*decision.Count >= q.mu.waiting.Len() {
		return nil, Decision{}
	}
	s := q.preferredIdle()
	q.markBusy(s)
	return s, decision
}

// preferredIdle returns the idle slot to use next.
func (q *Queue) preferredIdle() *Slot {
	best := q.mu.idle[len(q.mu.idle)-1]
	if q.gate == nil {
		return best
	}
	for _, s := range q.mu.idle {
		if q.gate.Weight(s.Index) < q.gate.Weight(best.Index) {
			best = s
		}
	}
	return best
}

// setAlarm sets the alarm to a time, unless it is 0 or already set.
func (q *Queue) setAlarm(at, now int64) {
	if at == 0 || q.mu.alarmAt == at {
		return
	}
	q.mu.alarmAt = at
	q.alarm.Set(time.Duration(at - now))
}

// fill moves the batch from the queue to the slot. Cancelled requests go to s.cancelled
// instead and never run.
func (q *Queue) fill(s *Slot, decision Decision, now int64) {
	s.Why = decision.Why
	for range decision.Count {
		r := q.mu.waiting.Pop()
		r.TakeFromQueue()
		if r.Cancelled() {
			s.cancelled.Push(r)
			continue
		}
		if q.order != nil {
			q.order.Enter(r)
		}
		s.Batch.Add(r)
		if r.Caller != nil {
			q.stats.Waited(r.Caller.Class, now-r.Times.Queued)
		}
	}
	q.stats.Pending.Add(-int64(decision.Count))
}

// failCancelled answers the requests in s.cancelled. The caller does not hold the lock.
func (q *Queue) failCancelled(s *Slot) {
	for r := s.cancelled.Pop(); r != nil; r = s.cancelled.Pop() {
		q.fail(r, errCancelled(), stats.Canceled)
	}
}

// unlockAndWake unlocks, and wakes an idle slot when a batch is due.
func (q *Queue) unlockAndWake(now int64) {
	s, _ := q.takeIdle(now)
	if s != nil {
		q.mu.woken++
	}
	q.unlockAndAnswer()
	if s != nil {
		s.wake <- struct{}{}
	}
}

// startAndUnlock forms the batch, unlocks, and wakes another slot when the remaining requests are
// due too. It returns false when all requests of the batch were cancelled.
func (q *Queue) startAndUnlock(s *Slot, decision Decision, now int64) bool {
	q.fill(s, decision, now)
	s.Batch.FormedAt = now
	q.unlockAndWake(now)
	q.failCancelled(s)
	if len(s.Batch.Requests) == 0 {
		return false
	}
	s.grant.Use()
	return true
}
