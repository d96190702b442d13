package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Retire takes a seat out of service whose instance is broken. With the last
// one everything that waits is answered Unavailable.
func (q *Queue) Retire(s *Seat) {
	q.mu.Lock()
	if s.dead {
		q.mu.Unlock()
		return
	}
	s.dead = true
	q.mu.alive--
	var orphans infer.List
	if q.mu.alive == 0 {
		q.empty(&orphans)
	}
	idle := s.idle
	if idle {
		q.unrest(s)
		q.mu.woken++
	}
	q.mu.Unlock()
	if idle {
		s.wake <- struct{}{}
	}
	for r := orphans.Pop(); r != nil; r = orphans.Pop() {
		q.fail(r, ErrDead(r), stats.Other)
	}
}

// Restore brings a retired seat back into service.
func (q *Queue) Restore(s *Seat) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.dead {
		s.dead = false
		q.mu.alive++
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

// Free ends the alarms, once no goroutine uses the queue any more.
func (q *Queue) Free() {
	q.alarm.Close()
	q.timer.Stop()
}
