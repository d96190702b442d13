package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Retire takes the slot of a broken instance out of service. With the last slot all
// waiting requests are answered Unavailable.
func (q *Queue) Retire(s *Slot) {
	q.mu.Lock()
	if s.retired {
		q.mu.Unlock()
		return
	}
	s.retired = true
	q.mu.alive--
	var orphans infer.List
	if q.mu.alive == 0 {
		q.moveAll(&orphans)
	}
	idle := s.idle
	if idle {
		q.markBusy(s)
		q.mu.woken++
	}
	q.mu.Unlock()
	if idle {
		s.wake <- struct{}{}
	}
	for r := orphans.Pop(); r != nil; r = orphans.Pop() {
		q.fail(r, ErrNoInstance(r), stats.Other)
	}
}

// Restore brings a retired slot back into service.
func (q *Queue) Restore(s *Slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.retired && !s.removed {
		s.retired = false
		q.mu.alive++
	}
}

// moveAll moves all waiting requests to another list.
func (q *Queue) moveAll(to *infer.List) {
	n := q.mu.waiting.Len()
	for r := q.mu.waiting.Pop(); r != nil; r = q.mu.waiting.Pop() {
		r.TakeFromQueue()
		to.Push(r)
	}
	q.stats.Pending.Add(-int64(n))
}

// Close stops accepting requests. Waiting requests run without further delay; then Next
// returns false.
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

// Abort answers all waiting requests with ErrStopping and ends every wait for the gate.
func (q *Queue) Abort() {
	var rest infer.List
	q.mu.Lock()
	q.moveAll(&rest)
	q.mu.Unlock()
	for r := rest.Pop(); r != nil; r = rest.Pop() {
		q.fail(r, ErrStopping(r), stats.Other)
	}
	if q.gate != nil {
		q.gate.Abort()
	}
}

// Free stops the timers, once no goroutine uses the queue.
func (q *Queue) Free() {
	q.alarm.Close()
	q.timer.Stop()
}
