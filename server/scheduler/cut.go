package scheduler

import (
	"time"

	"triton/server/infer"
	"triton/server/stats"
)

// choose takes an idle seat out when a batch is due, and otherwise sets the
// alarm for when one will be. A seat that is on its way already will look at
// the queue itself, and then call choose for what it leaves.
func (q *Queue) choose(now int64) (*Seat, Cut) {
	n := len(q.mu.idle)
	if n == 0 || q.mu.woken > 0 {
		return nil, Cut{}
	}
	cut := q.look(now)
	if cut.Count == 0 {
		q.arm(cut.At, now)
		return nil, cut
	}
	// Each of those that wait for the gate takes a batch like this one.
	if q.mu.asking > 0 && q.mu.asking*cut.Count >= q.mu.line.Len() {
		return nil, Cut{}
	}
	s := q.pick()
	q.unrest(s)
	return s, cut
}

// pick is the idle seat to take.
func (q *Queue) pick() *Seat {
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

func (q *Queue) arm(at, now int64) {
	if at == 0 || q.mu.tick == at {
		return
	}
	q.mu.tick = at
	q.alarm.Set(time.Duration(at - now))
}

// fill moves the batch from the queue to the seat. Requests that nobody waits
// for any more are put aside and never run.
func (q *Queue) fill(s *Seat, c Cut) {
	s.Why = c.Why
	for range c.Count {
		r := q.mu.line.Pop()
		r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
		if r.Cancelled() {
			s.dropped.Push(r)
			continue
		}
		if q.order != nil {
			q.order.Enter(r)
		}
		s.Batch.Add(r)
	}
	q.stats.Pending.Add(-int64(c.Count))
}

// drop answers the requests that fill put aside; without the lock.
func (q *Queue) drop(s *Seat) {
	for r := s.dropped.Pop(); r != nil; r = s.dropped.Pop() {
		q.fail(r, errCancelled(), stats.Canceled)
	}
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
	s.Batch.Cut = now
	q.unlockAndWake(now)
	q.drop(s)
	if len(s.Batch.Requests) == 0 {
		return false
	}
	s.turn.Use()
	return true
}
