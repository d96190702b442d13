package trace

// spill is how many bytes of traces are kept in memory when all of them go to
// one file anyway.
const spill = 1 << 20

// most is how many bytes of traces are kept in memory at all. A file that would
// need more is written in parts.
const most = 16 << 20

// collect takes a finished trace, as JSON, and writes what is due.
func (s *setting) collect(entries []byte) {
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

// full says whether a numbered file is due: there are as many traces as one
// shall have or as are kept, or the last of count is here. The latter happens
// with a rate of 1 only, as in Triton.
func (s *setting) full() bool {
	if len(s.mu.pending) >= most {
		return true
	}
	if s.frequency != 0 && s.mu.held >= s.frequency {
		return true
	}
	return s.rate == 1 && s.count > 0 && s.left.Load() == 0 && s.mu.finished >= uint64(s.count)
}

// spills says whether to write early what goes to the one file in the end.
func (s *setting) spills() bool {
	return s.frequency == 0 && s.count < 0 && len(s.mu.pending) >= spill
}

// flush writes what was collected.
func (s *setting) flush() {
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
