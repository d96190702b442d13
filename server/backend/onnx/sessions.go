//go:build cgo && (linux || darwin)

package onnx

import "sync"

// sessions are the sessions that the instances of a model share, one for each thread
// plan. Another instance count makes another plan: while a model's instances are
// replaced, the old ones keep their session and the new ones have theirs. A session is
// closed with its last instance.
type sessions struct {
	mu  sync.Mutex
	all map[threads]*shared
}

// shared is a session with the number of its instances.
type shared struct {
	*session
	users int
}

// join returns the session of a plan, which it opens if there is none, and the function
// that releases it. fresh reports whether it was opened.
func (s *sessions) join(plan threads, open func() (*session, error)) (one *session, leave func(), fresh bool, err error) {
	plan.why = "" // the reason is not part of the plan
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.all[plan]
	if have == nil {
		if one, err = open(); err != nil {
			return nil, nil, false, err
		}
		if s.all == nil {
			s.all = map[threads]*shared{}
		}
		have, fresh = &shared{session: one}, true
		s.all[plan] = have
	}
	have.users++
	return have.session, func() { s.leave(plan, have) }, fresh, nil
}

func (s *sessions) leave(plan threads, have *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have.users--; have.users > 0 || s.all[plan] != have {
		return
	}
	delete(s.all, plan)
	have.close()
}

// memory returns the bytes that the sessions hold.
func (s *sessions) memory() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n uint64
	for _, one := range s.all {
		n += one.memory()
	}
	return n
}

// close closes the sessions that are still in use.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for plan, one := range s.all {
		one.close()
		delete(s.all, plan)
	}
}
