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
	for q := s.mu.recent.front; q != nil && q.lastSeen+s.idleAfter <= now; q = s.mu.recent.front {
		if q.slot == nil {
			s.touch(q, now)
			continue
		}
		s.unregister(q)
		ended = append(ended, q.slot)
	}
	if q := s.mu.recent.front; q != nil {
		s.timer.Set(q.lastSeen + s.idleAfter)
	}
	for _, l := range ended {
		s.advance(l)
	}
}
