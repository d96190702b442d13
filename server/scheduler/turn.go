package scheduler

// turn is how a seat stands with its gate.
type turn uint8

const (
	none  turn = iota
	fresh      // it may run one batch
	used       // it has run that
)

// use notes that the seat runs a batch.
func (s *Seat) use() {
	if s.turn == fresh {
		s.turn = used
	}
}

// may says whether a seat may begin a batch without asking.
func (q *Queue) may(s *Seat) bool { return q.gate == nil || s.turn == fresh }

// ask waits for the gate, without the lock: what waits here may change
// meanwhile. False when the wait was ended.
func (q *Queue) ask(s *Seat) bool {
	q.mu.asking++
	q.unlock()
	ok := q.gate.Acquire(s.Index)
	q.mu.Lock()
	q.mu.asking--
	s.turn = none
	if ok {
		s.turn = fresh
	}
	return ok
}

// giveBack ends the turn of a seat that has nothing to run.
func (q *Queue) giveBack(s *Seat) {
	ran := s.turn == used
	s.turn = none
	q.unlock()
	q.gate.Release(s.Index, ran)
	q.mu.Lock()
}
