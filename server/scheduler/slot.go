package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Slot is the right to run batches on one instance.
type Slot struct {
	// Batch is the batch to run; the holder of the slot owns it.
	Batch infer.Batch
	Why   stats.CloseReason
	// Index numbers the slots of a queue from 0. The index of a removed slot is used again.
	Index int
	// Of is the state that a source other than a Queue has for the slot.
	Of any

	wake      chan struct{} // gives the slot to the instance's goroutine
	idle      bool          // guarded by the queue's lock, as is retired
	retired   bool
	removed   bool // Restore does not bring it back; guarded by the queue's lock
	grant     Grant
	cancelled infer.List // cancelled requests found while the batch was formed
}

// Next waits for the next batch of a slot; the instance's goroutine calls it while it
// holds the slot. The batch is formed at the last moment, so that late arrivals still
// join. Next returns false when the instance must be closed.
func (q *Queue) Next(s *Slot) bool {
	q.mu.Lock()
	for !s.retired {
		decision, now := q.evaluateNow()
		switch {
		case decision.Count > 0 && !q.mayStart(s):
			if !q.acquireGrant(s) {
				return q.exitAndUnlock(s)
			}
			continue
		case decision.Count > 0:
			if q.startAndUnlock(s, decision, now) {
				return true
			}
			q.mu.Lock()
			continue
		case s.grant.Held():
			q.releaseGrant(s)
			continue
		case q.mu.closed && q.mu.waiting.Len() == 0:
			return q.exitAndUnlock(s)
		}
		q.setAlarm(decision.At, now)
		q.markIdle(s)
		q.unlockAndAnswer()
		q.wait(s)
	}
	return q.exitAndUnlock(s)
}

// exitAndUnlock ends the use of a slot. The caller holds q.mu; exitAndUnlock releases it.
func (q *Queue) exitAndUnlock(s *Slot) bool {
	if s.grant.Held() {
		q.releaseGrant(s)
	}
	// An enqueuer that saw this slot as awake did not wake another one, so evaluate the queue
	// again.
	q.unlockAndWake(infer.Now())
	return false
}

// markIdle adds a slot to the idle ones.
func (q *Queue) markIdle(s *Slot) {
	s.idle = true
	q.mu.idle = append(q.mu.idle, s)
}

// wait blocks the goroutine of a slot until it owns the slot again, and returns with the
// lock held. All waiting goroutines receive from the alarm. The one that gets the tick
// takes its own slot or, while a caller runs on that slot, wakes another one.
func (q *Queue) wait(s *Slot) {
	for {
		select {
		case <-s.wake:
			q.mu.Lock()
			q.mu.woken--
			return
		case <-q.alarm.C():
		}
		q.mu.Lock()
		q.mu.alarmAt = 0
		if s.idle && q.gate == nil { // with a gate, preferredIdle chooses the slot
			q.markBusy(s)
			return
		}
		q.unlockAndWake(infer.Now())
	}
}

// markBusy removes a slot from the idle ones.
func (q *Queue) markBusy(s *Slot) {
	last := len(q.mu.idle) - 1
	for i := last; i >= 0; i-- {
		if q.mu.idle[i] == s {
			q.mu.idle[i] = q.mu.idle[last]
			q.mu.idle = q.mu.idle[:last]
			break
		}
	}
	s.idle = false
}

// Done returns a slot that Enqueue handed to a caller. If another batch is due, it wakes
// the instance's own goroutine, because the caller must answer its client first.
func (q *Queue) Done(s *Slot) {
	q.mu.Lock()
	if !q.mu.closed && !s.retired {
		if decision, now := q.evaluateNow(); decision.Count == 0 {
			q.setAlarm(decision.At, now)
			q.markIdle(s)
			q.unlockAndAnswer()
			return
		}
	}
	q.mu.woken++
	q.unlockAndAnswer()
	s.wake <- struct{}{}
}
