package ensemble

import (
	"slices"
	"sync"
)

// limit bounds how many requests of one step run at the same time, over all
// requests of the ensemble. What is over the bound waits without a goroutine.
type limit struct {
	most    int
	mu      sync.Mutex
	running int
	waiting []*step // oldest first
	giving  bool    // somebody gives free places to those that wait
}

// acquire says whether the step may run now; if not it will be told.
func (l *limit) acquire(s *step) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running < l.most && len(l.waiting) == 0 {
		l.running++
		return true
	}
	l.waiting = append(l.waiting, s)
	return false
}

// withdraw takes a step out that waits; false when it does not.
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

// release ends one that ran. The place goes to the one that waits longest. When
// that fails at once its place is free again: the loop, not the recursion, goes
// on to the next.
func (l *limit) release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.giving {
		return
	}
	l.giving = true
	for l.running < l.most && len(l.waiting) > 0 {
		s := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.running++
		l.mu.Unlock()
		s.flow.post(event{step: s, kind: admitted})
		l.mu.Lock()
	}
	l.giving = false
}
