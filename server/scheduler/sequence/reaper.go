package sequence

import "triton/server/infer"

// onTimer ends the sequences that were idle for too long, and those that waited too long
// for a slot.
func (s *Source) onTimer() {
	s.mu.Lock()
	s.timer.Fired()
	now := infer.Now()
	s.expire(now)
	s.timer.Set(s.mu.backlog.nextDeadline())
	s.reap(now)
	s.unlock()
}

// reap ends idle sequences: their waiting requests still run, but no request can follow.
// Sequences in the backlog are never idle.
func (s *Source) reap(now int64) {
	var ended []*slot
	for seq := s.mu.recent.front; seq != nil && seq.lastSeen+s.idleAfter <= now; seq = s.mu.recent.front {
		if seq.slot == nil {
			s.touch(seq, now)
			continue
		}
		s.unregister(seq)
		ended = append(ended, seq.slot)
	}
	if seq := s.mu.recent.front; seq != nil {
		s.timer.Set(seq.lastSeen + s.idleAfter)
	}
	for _, l := range ended {
		s.advance(l)
	}
}
