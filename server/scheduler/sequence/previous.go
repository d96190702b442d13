package sequence

import "triton/server/infer"

// passToPrevious hands a request to the previous source when its sequence started there.
func (s *Source) passToPrevious(r *infer.Request) bool {
	b := s.previous.Load()
	if b == nil {
		return false
	}
	if b.drained() {
		s.previous.CompareAndSwap(b, nil)
		return false
	}
	return b.appendKnown(r)
}

// appendKnown queues a request if its sequence is open here or in a source before this
// one.
func (s *Source) appendKnown(r *infer.Request) bool {
	if s.passToPrevious(r) {
		return true
	}
	s.mu.Lock()
	q := s.mu.known[idOf(r)]
	if q == nil {
		s.unlock()
		return false
	}
	i, anew := q.id, r.SequenceStart
	s.join(q, r, r.Times.Queued)
	s.dispatch(q, r, false)
	s.unlock()
	if anew {
		s.logConflict(i)
	}
	return true
}

// drained reports whether no sequence is left after Stop.
func (s *Source) drained() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.drainedClosed && s.previous.Load() == nil
}

// ClosePrevious closes the sources before this one, once requests no longer reach them.
func (s *Source) ClosePrevious() {
	for b := s.previous.Load(); b != nil; b = b.previous.Load() {
		b.Close()
	}
}
