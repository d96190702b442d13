package sequence

import "triton/server/infer"

// passToPrevious enqueues a request in an earlier source if its sequence is open there, and
// reports whether it did.
func (s *Source) passToPrevious(r *infer.Request) bool {
	p := s.previous.Load()
	if p == nil {
		return false
	}
	if p.drained() {
		s.previous.CompareAndSwap(p, nil)
		return false
	}
	return p.appendKnown(r)
}

// appendKnown enqueues a request if its sequence is open here or in an earlier source, and
// reports whether it did.
func (s *Source) appendKnown(r *infer.Request) bool {
	if s.passToPrevious(r) {
		return true
	}
	s.mu.Lock()
	seq := s.mu.known[idOf(r)]
	if seq == nil {
		s.unlock()
		return false
	}
	i, conflict := seq.id, r.SequenceStart
	s.join(seq, r, r.Times.Queued)
	s.dispatch(seq, r, false)
	s.unlock()
	if conflict {
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

// ClosePrevious closes all earlier sources. No request must reach them any more.
func (s *Source) ClosePrevious() {
	for p := s.previous.Load(); p != nil; p = p.previous.Load() {
		p.Close()
	}
}
