package trace

// maxUnspilled bounds the bytes of pending traces when all of them go to one file.
const maxUnspilled = 1 << 20

// maxPending bounds the bytes of pending traces. A file that needs more is written in parts.
const maxPending = 16 << 20

// collect adds an ended trace as JSON and writes the pending ones when they are due.
func (s *sampler) collect(entries []byte) {
	s.mu.Lock()
	s.mu.finished++
	if len(entries) > 0 {
		if s.mu.held > 0 {
			s.mu.pending = append(s.mu.pending, ',')
		}
		s.mu.pending = append(s.mu.pending, entries...)
		s.mu.held++
	}
	whole, part := s.full(), s.spills()
	var due []byte
	if whole || part {
		due, s.mu.pending, s.mu.held = s.mu.pending, nil, 0
	}
	s.mu.Unlock()
	switch {
	case len(due) == 0:
	case part:
		s.out.add(due)
	default:
		s.out.next(due)
	}
}

// full reports whether a numbered file is due: the log frequency or maxPending is reached, or the
// count is used up and all its traces have ended. The latter applies to a rate of 1 only, as in
// Triton.
func (s *sampler) full() bool {
	if len(s.mu.pending) >= maxPending {
		return true
	}
	if s.frequency != 0 && s.mu.held >= s.frequency {
		return true
	}
	return s.rate == 1 && s.count > 0 && s.left.Load() == 0 && s.mu.finished >= uint64(s.count)
}

// spills reports whether to write pending traces early to the file that gets all of them.
func (s *sampler) spills() bool {
	return s.frequency == 0 && s.count < 0 && len(s.mu.pending) >= maxUnspilled
}

// flush writes the pending traces.
func (s *sampler) flush() {
	s.mu.Lock()
	due := s.mu.pending
	s.mu.pending, s.mu.held = nil, 0
	s.mu.Unlock()
	switch {
	case len(due) == 0:
	case s.frequency != 0:
		s.out.next(due)
	default:
		s.out.add(due)
	}
}
