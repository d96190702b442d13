package sequence

import (
	"time"

	"triton/server/infer"
)

// recheck is how often a sequence is looked at that was idle in the backlog:
// there it is not ended, but soon after it has a slot.
const recheck = int64(50 * time.Millisecond)

// tick ends the sequences that nothing was heard of for too long, and those that
// waited too long for a slot.
func (s *Source) tick() {
	s.mu.Lock()
	s.timer.at = 0
	now := infer.Now()
	s.expire(now)
	s.reap(now)
	s.unlock()
}

// reap ends idle sequences: what waits of them still runs, but nothing can
// follow.
func (s *Source) reap(now int64) {
	next := s.mu.backlog.due()
	earlier := func(at int64) {
		if next == 0 || at < next {
			next = at
		}
	}
	var left []*slot
	for q := s.mu.recent.front; q != nil; {
		following := q.links[recent].next
		if at := q.seen + s.idleAfter; at > now {
			earlier(at)
			break
		}
		if q.slot == nil {
			earlier(now + recheck)
		} else {
			s.forget(q)
			left = append(left, q.slot)
		}
		q = following
	}
	s.timer.set(next)
	for _, l := range left {
		s.follow(l)
	}
}
