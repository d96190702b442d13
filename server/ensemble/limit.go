package ensemble

import (
	"slices"
	"sync"
)

// limit bounds how many requests to the model of one step run at the same time, for all
// requests of the ensemble together. Steps over the limit wait without a goroutine.
type limit struct {
	max       int
	mu        sync.Mutex
	running   int
	waiting   []*step // oldest first
	admitting bool    // a goroutine admits waiting steps
}

// acquire reports whether the step may run now; otherwise it gets an admitted event
// later.
func (l *limit) acquire(s *step) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < l.max && len(l.waiting) == 0 {
		l.running++
		return true
	}
	l.waiting = append(l.waiting, s)
	return false
}

// withdraw removes a waiting step, and reports whether it waited.
func (l *limit) withdraw(s *step) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, s)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// release ends a running step and admits the step that has waited longest. A step that
// fails at once calls release again; the loop avoids recursion.
func (l *limit) release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.admitting {
		return
	}
	l.admitting = true
	for l.running < l.max && len(l.waiting) > 0 {
		s := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.running++
		l.mu.Unlock()
		s.flow.post(event{step: s, kind: stepAdmitted})
		l.mu.Lock()
	}
	l.admitting = false
}
