package scheduler

import "triton/server/infer"

// Ahead returns how many requests would be served before r if it entered now and none timed out.
// Where callers take turns it is an estimate.
func (q *PriorityQueue) Ahead(r *infer.Request) int {
	own, n := q.rules.level(r.Priority), 0
	for _, v := range q.levels {
		switch {
		case v.number > own:
			return n
		case v.number < own:
			n += v.len()
			continue
		}
		n += v.active.Len()
		if v.turns != nil {
			n += v.turns.ahead(r)
		}
		if q.rules.Levels == 0 {
			n += v.delayed.Len()
		}
	}
	return n
}

// Ahead returns how many requests would be served before r if it entered now.
func (q *Queue) Ahead(r *infer.Request) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.waiting.Ahead(r)
}
