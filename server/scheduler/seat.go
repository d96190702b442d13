package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Next waits for the next batch of a seat; the instance's goroutine calls it
// while it holds the seat. The batch is cut at the last moment, so that late
// arrivals still join. False means that the instance is to be closed.
func (q *Queue) Next(s *Seat) bool {
	q.mu.Lock()
	for !s.dead {
		now := infer.Now()
		cut := q.look(now)
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
		case s.turn != none:
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
	if s.turn != none {
		q.giveBack(s)
	}
	// Whoever enqueued while this seat was on its way counted on it to look.
	q.unlockAndWake(infer.Now())
	return false
}

// unlockAndWake starts an idle seat when a batch is due, and unlocks.
func (q *Queue) unlockAndWake(now int64) {
	s, _ := q.choose(now)
	if s != nil {
		q.mu.woken++
	}
	q.unlock()
	if s != nil {
		s.wake <- struct{}{}
	}
}

// begin cuts the batch, unlocks, and starts another seat for what is left when
// that is due too. False when nobody waits for anything in the batch.
func (q *Queue) begin(s *Seat, cut Cut, now int64) bool {
	q.fill(s, cut)
	q.unlockAndWake(now)
	q.drop(s)
	if len(s.Batch.Requests) == 0 {
		return false
	}
	s.use()
	return true
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
	if !q.mu.closed {
		now := infer.Now()
		if cut := q.look(now); cut.Count == 0 {
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

// Retire takes a seat out of service whose instance is broken. With the last
// one everything that waits is answered Unavailable. inline says that a caller
// held the seat and not the instance's goroutine, which then ends.
func (q *Queue) Retire(s *Seat, inline bool) {
	q.mu.Lock()
	s.dead = true
	q.mu.alive--
	var orphans infer.List
	if q.mu.alive == 0 {
		q.empty(&orphans)
	}
	if inline {
		q.mu.woken++
	}
	q.mu.Unlock()
	if inline {
		s.wake <- struct{}{}
	}
	for r := orphans.Pop(); r != nil; r = orphans.Pop() {
		q.fail(r, errDead(r), stats.Other)
	}
}

// empty moves all requests that wait to another list.
func (q *Queue) empty(to *infer.List) {
	n := q.mu.line.Len()
	for r := q.mu.line.Pop(); r != nil; r = q.mu.line.Pop() {
		// Out of the queue, no longer to be withdrawn.
		r.Move(infer.Queued, infer.Executing)
		to.Push(r)
	}
	q.stats.Pending.Add(-int64(n))
}

// Alive is the number of seats in service.
func (q *Queue) Alive() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.alive
}

// Close stops accepting requests. What waits is run without further delay, and
// then Next answers false.
func (q *Queue) Close() {
	q.mu.Lock()
	q.mu.closed = true
	idle := q.mu.idle
	q.mu.idle = nil
	for _, s := range idle {
		s.idle = false
	}
	q.mu.woken += len(idle)
	q.mu.Unlock()
	for _, s := range idle {
		s.wake <- struct{}{}
	}
}

// Free ends the alarms, once no goroutine uses the queue any more.
func (q *Queue) Free() {
	q.alarm.Close()
	q.timer.stop()
}

// Abort answers everything that waits as Close answers new requests, and no
// seat waits for its gate any more.
func (q *Queue) Abort() {
	var rest infer.List
	q.mu.Lock()
	q.empty(&rest)
	q.mu.Unlock()
	for r := rest.Pop(); r != nil; r = rest.Pop() {
		q.fail(r, Stopping(r), stats.Other)
	}
	if q.gate != nil {
		q.gate.Abort()
	}
}
