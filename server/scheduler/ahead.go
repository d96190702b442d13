package scheduler

// Ahead returns how many requests would be served before a new one of that priority, if
// none timed out.
func (q *PriorityQueue) Ahead(priority uint64) int {
	if q.rules.Levels == 0 {
		return q.n
	}
	own, n := q.rules.level(priority), 0
	for _, v := range q.levels {
		if v.number == own {
			return n + v.active.Len()
		}
		if v.number > own {
			break
		}
		n += v.active.Len() + v.delayed.Len()
	}
	return n
}

// Ahead returns how many requests would be served before a new one of that priority.
func (q *Queue) Ahead(priority uint64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.waiting.Ahead(priority)
}
