package sequence

import "triton/server/infer"

// tick ends the sequences that nothing was heard of for too long, and those that
// waited too long for a slot.
func (s *Source) tick() {
	s.mu.Lock()
	s.timer.Rang()
	now := infer.Now()
	s.expire(now)
	s.timer.Set(s.mu.backlog.due())
	s.reap(now)
	s.unlock()
}

// reap ends idle sequences: what waits of them still runs, but nothing can
// follow. In the backlog none is idle.
func (s *Source) reap(now int64) {
	var left []*slot
	for q := s.mu.recent.front; q != nil && q.seen+s.idleAfter <= now; q = s.mu.recent.front {
		if q.slot == nil {
			s.touch(q, now)
			continue
		}
		s.forget(q)
		left = append(left, q.slot)
	}
	if q := s.mu.recent.front; q != nil {
		s.timer.Set(q.seen + s.idleAfter)
	}
	for _, l := range left {
		s.follow(l)
	}
}
