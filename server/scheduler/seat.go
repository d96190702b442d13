package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Seat is the right to run batches on one instance.
type Seat struct {
	// Batch is the batch to run; whoever holds the seat owns it.
	Batch infer.Batch
	Why   stats.Close
	// Index numbers the seats of a queue from 0.
	Index int

	wake    chan struct{} // the seat is given to the instance's goroutine
	idle    bool          // under the queue's lock, as is dead
	dead    bool
	turn    Turn
	dropped infer.List // cancelled requests met while cutting
}

// Next waits for the next batch of a seat; the instance's goroutine calls it
// while it holds the seat. The batch is cut at the last moment, so that late
// arrivals still join. False means that the instance is to be closed.
func (q *Queue) Next(s *Seat) bool {
	q.mu.Lock()
	for !s.dead {
		cut, now := q.lookNow()
		switch {
		case cut.Count > 0 && !q.may(s):
			if !q.ask(s) {
				return q.leave(s)
			}
			continue
		case cut.Count > 0:
			if q.begin(s, cut, now) {
				return true
			}
			q.mu.Lock()
			continue
		case s.turn.Held():
			q.giveBack(s)
			continue
		case q.mu.closed && q.mu.line.Len() == 0:
			return q.leave(s)
		}
		q.arm(cut.At, now)
		q.rest(s)
		q.unlock()
		q.park(s)
	}
	return q.leave(s)
}

// leave ends a seat, and unlocks.
func (q *Queue) leave(s *Seat) bool {
	if s.turn.Held() {
		q.giveBack(s)
	}
	// Whoever enqueued while this seat was on its way counted on it to look.
	q.unlockAndWake(infer.Now())
	return false
}

func (q *Queue) rest(s *Seat) {
	s.idle = true
	q.mu.idle = append(q.mu.idle, s)
}

// park blocks the goroutine of a seat until the seat is its own again, and
// returns with the lock held. All parked goroutines wait for the alarm, and the
// one that gets the tick takes its own seat or, while a caller runs on that,
// passes the tick on.
func (q *Queue) park(s *Seat) {
	for {
		select {
		case <-s.wake:
			q.mu.Lock()
			q.mu.woken--
			return
		case <-q.alarm.C():
		}
		q.mu.Lock()
		q.mu.tick = 0
		if s.idle && q.gate == nil {
			q.unrest(s)
			return
		}
		q.unlockAndWake(infer.Now())
	}
}

func (q *Queue) unrest(s *Seat) {
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

// Done gives back a seat that Enqueue handed to a caller. When more is due the
// instance's own goroutine goes on with it: the caller has a client to answer.
func (q *Queue) Done(s *Seat) {
	q.mu.Lock()
	if !q.mu.closed && !s.dead {
		if cut, now := q.lookNow(); cut.Count == 0 {
			q.arm(cut.At, now)
			q.rest(s)
			q.unlock()
			return
		}
	}
	q.mu.woken++
	q.unlock()
	s.wake <- struct{}{}
}
