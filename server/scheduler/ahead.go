package scheduler

// Ahead is how many requests would be served before a new one of that priority,
// were none to time out.
func (l *Line) Ahead(priority uint64) int {
	if l.rules.Levels == 0 {
		return l.n
	}
	own, n := l.rules.level(priority), 0
	for _, v := range l.levels {
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

// Ahead is how many requests would be served before a new one of that priority.
func (q *Queue) Ahead(priority uint64) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.line.Ahead(priority)
}
