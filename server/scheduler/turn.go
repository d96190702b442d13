package scheduler

// Turn is how an instance stands with its gate. Whoever holds its seat has it.
type Turn struct{ at turnState }

type turnState uint8

const (
	none  turnState = iota
	fresh           // it may run one batch
	used            // it has run that
)

// Use notes that a batch runs, if there is a gate.
func (t *Turn) Use() {
	if t.at == fresh {
		t.at = used
	}
}

// Fresh says whether a batch may begin without asking.
func (t *Turn) Fresh() bool { return t.at == fresh }

// Held says whether the turn is to be ended.
func (t *Turn) Held() bool { return t.at != none }

// Ask waits for the gate, and gives up a turn that was used. False when the wait
// was ended.
func (t *Turn) Ask(g Gate, seat int) bool {
	t.at = none
	if g.Acquire(seat) {
		t.at = fresh
	}
	return t.Fresh()
}

// End ends a turn that is held.
func (t *Turn) End(g Gate, seat int) {
	if t.Held() {
		ran := t.at == used
		t.at = none
		g.Release(seat, ran)
	}
}

// may says whether a seat may begin a batch without asking.
func (q *Queue) may(s *Seat) bool { return q.gate == nil || s.turn.Fresh() }

// ask waits for the gate, without the lock: what waits here may change
// meanwhile. False when the wait was ended.
func (q *Queue) ask(s *Seat) bool {
	q.mu.asking++
	q.unlock()
	ok := s.turn.Ask(q.gate, s.Index)
	q.mu.Lock()
	q.mu.asking--
	return ok
}

// giveBack ends the turn of a seat that has nothing to run.
func (q *Queue) giveBack(s *Seat) {
	q.unlock()
	s.turn.End(q.gate, s.Index)
	q.mu.Lock()
}
