package scheduler

// Grant is the grant of a slot by its gate, if any. The holder of the slot owns it.
type Grant struct{ state grantState }

type grantState uint8

const (
	noGrant grantState = iota
	unused             // may run one batch
	used               // has run one batch
)

// Use records that a batch runs, if there is a gate.
func (g *Grant) Use() {
	if g.state == unused {
		g.state = used
	}
}

// Unused reports whether a batch may start without a new grant.
func (g *Grant) Unused() bool { return g.state == unused }

// Held reports whether the grant must be released.
func (g *Grant) Held() bool { return g.state != noGrant }

// Acquire gives up the grant, if it is held, and waits for a new one. It returns false when
// the gate has ended the wait.
func (g *Grant) Acquire(gate Gate, slot int) bool {
	g.state = noGrant
	if gate.Acquire(slot) {
		g.state = unused
	}
	return g.Unused()
}

// Release releases a grant that is held.
func (g *Grant) Release(gate Gate, slot int) {
	if g.Held() {
		ran := g.state == used
		g.state = noGrant
		gate.Release(slot, ran)
	}
}

// mayStart reports whether a slot may start a batch without waiting for the gate.
func (q *Queue) mayStart(s *Slot) bool { return q.gate == nil || s.grant.Unused() }

// acquireGrant waits for the gate, without the lock: the queue may change meanwhile. It
// returns false when the wait was ended.
func (q *Queue) acquireGrant(s *Slot) bool {
	q.mu.waitingForGate++
	q.unlockAndAnswer()
	ok := s.grant.Acquire(q.gate, s.Index)
	q.mu.Lock()
	q.mu.waitingForGate--
	return ok
}

// releaseGrant releases the grant of a slot that has nothing to run.
func (q *Queue) releaseGrant(s *Slot) {
	q.unlockAndAnswer()
	s.grant.Release(q.gate, s.Index)
	q.mu.Lock()
}
