package sequence

import (
	"time"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// bench is one instance: its seat, its slots and what its strategy keeps.
type bench struct {
	seat  *scheduler.Seat
	slots []*slot // that were ever used, by number
	held  int     // slots that belong to a sequence
	line  *scheduler.Line
	order scheduler.Order // of the responses, with oldest
	wake  chan struct{}   // the seat is given to the instance's goroutine

	idle   bool // nobody has the seat
	dead   bool
	filled bool // a caller has cut the batch for the instance's goroutine
	link   *bench
	alarm  scheduler.Alarm
	tick   int64 // what the alarm is set to; 0 when it is not

	// For whoever holds the seat.
	turn  scheduler.Turn // with the gate
	zeros *tensor.Buffer // what null requests read
}

func newBench(s *Source, seat *scheduler.Seat, alarm scheduler.Alarm) *bench {
	return &bench{seat: seat, line: s.strategy.line(), wake: make(chan struct{}, 1), alarm: alarm}
}

// Next waits for the next batch of a seat; the instance's goroutine calls it
// while it holds the seat. False means that the instance is to be closed.
func (s *Source) Next(seat *scheduler.Seat) bool {
	b := s.benches[seat.Index]
	b.turn.Use() // for the batch before
	s.mu.Lock()
	for !b.dead || b.filled { // what a caller has put into the batch is run in any case
		if s.cut(b) {
			s.prepare(b)
			return true
		}
		if s.done(b) {
			break
		}
	}
	s.unlock()
	b.turn.End(s.gate, b.seat.Index)
	return false
}

// cut makes a batch if one is due, and unlocks. Else it waits for a reason to
// look again, which may be none, with the lock.
func (s *Source) cut(b *bench) bool {
	due := s.look(b)
	switch {
	case b.filled:
		b.filled = false
	case due.Count == 0 && b.turn.Held():
		s.unlock()
		b.turn.End(s.gate, b.seat.Index)
		s.mu.Lock()
		return false
	case due.Count == 0:
		if !s.done(b) {
			s.rest(b, due.At)
		}
		return false
	case s.gate != nil && !b.turn.Fresh():
		s.unlock()
		b.turn.Ask(s.gate, b.seat.Index)
		s.mu.Lock()
		return false
	default:
		s.strategy.fill(s, b, due)
	}
	if len(b.seat.Batch.Requests) == 0 {
		return false
	}
	s.unlock()
	return true
}

// rest gives the lock up and parks the goroutine until there may be something to
// do.
func (s *Source) rest(b *bench, at int64) {
	b.arm(at)
	b.idle = true
	s.unlock()
	for {
		select {
		case <-b.wake:
			s.mu.Lock()
			return
		case <-b.alarm.C():
		}
		s.mu.Lock()
		b.tick = 0
		if b.idle {
			b.idle = false
			return
		}
		s.unlock() // a caller has the seat, or has woken this goroutine
	}
}

// done reports whether nothing will come for an instance any more. After Abort
// nothing waits, and what the engine still keeps needs no goroutine.
func (s *Source) done(b *bench) bool {
	return s.mu.closed && (b.held == 0 || s.mu.aborted) && b.line.Len() == 0
}

// look is what is due for an instance.
func (s *Source) look(b *bench) scheduler.Cut {
	if s.mu.hold.on() {
		return scheduler.Cut{}
	}
	return s.strategy.look(s, b, infer.Now(), s.mu.closed)
}

// check wakes an idle instance when there is something for it to do, and sees to
// it that it wakes when there will be.
func (s *Source) check(b *bench) {
	if !b.idle {
		return
	}
	if cut := s.look(b); cut.Count > 0 || s.done(b) {
		s.rouse(b)
	} else {
		b.arm(cut.At)
	}
}

// rouse gives a seat to its goroutine, once the lock is given up.
func (s *Source) rouse(b *bench) {
	b.idle = false
	b.link, s.mu.rouse = s.mu.rouse, b
}

func (b *bench) arm(at int64) {
	if at == 0 || b.tick == at {
		return
	}
	b.tick = at
	b.alarm.Set(time.Duration(at - infer.Now()))
}

// Done gives back a seat that Enqueue handed to a caller.
func (s *Source) Done(seat *scheduler.Seat) {
	b := s.benches[seat.Index]
	s.mu.Lock()
	b.idle = true
	if b.dead {
		s.rouse(b)
	} else {
		s.check(b)
	}
	s.unlock()
}

// Retire takes an instance out of service that is broken, and its sequences with
// it: their state is lost.
func (s *Source) Retire(seat *scheduler.Seat) {
	b := s.benches[seat.Index]
	s.mu.Lock()
	defer s.unlock()
	if b.dead {
		return
	}
	b.dead = true
	s.mu.alive--
	s.mu.free.drop(b)
	s.evict(b, errLost, stats.Other)
	for q := s.mu.backlog.front; q != nil && s.mu.alive == 0; q = s.mu.backlog.front {
		s.dismiss(q, scheduler.ErrDead, stats.Other)
	}
	if b.idle {
		s.rouse(b)
	}
}

// Restore brings an instance back into service. Its slots are free, but for those
// whose last request the engine still has; the backlog goes first.
func (s *Source) Restore(seat *scheduler.Seat) {
	b := s.benches[seat.Index]
	s.mu.Lock()
	defer s.unlock()
	if !b.dead {
		return
	}
	b.dead = false
	s.mu.alive++
	for _, l := range b.slots {
		if l.seq == nil {
			s.offer(l)
		}
	}
}

// evict ends all sequences of an instance and fails what waits for it.
func (s *Source) evict(b *bench, err func(*infer.Request) error, why stats.Failure) {
	for _, l := range b.slots {
		if r := l.lined; r != nil {
			s.unline(l)
			s.drop(r, err(r), why)
		}
		if q := l.seq; q != nil {
			s.failFrom(q, q.waiting.Front(), err, why)
			s.forget(q)
			s.settle(l)
		}
	}
}
