package sequence

import "triton/server/infer"

// continues hands a request to the source before this one when its sequence
// began there.
func (s *Source) continues(r *infer.Request) bool {
	b := s.before.Load()
	if b == nil {
		return false
	}
	if b.over() {
		s.before.CompareAndSwap(b, nil)
		return false
	}
	return b.append(r)
}

// append queues a request if its sequence is known here, or was before.
func (s *Source) append(r *infer.Request) bool {
	if s.continues(r) {
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
		s.conflict(i)
	}
	return true
}

// over says whether no sequence is left after a Stop.
func (s *Source) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.ended && s.before.Load() == nil
}

// CloseBefore closes the sources before this one, which nobody can reach any
// more.
func (s *Source) CloseBefore() {
	for b := s.before.Load(); b != nil; b = b.before.Load() {
		b.Close()
	}
}
