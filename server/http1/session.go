package http1

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"triton/server/connlimit"
)

// session is the state of one connection for the drain and shutdown of its server.
type session struct {
	sessions *sessions
	nc       net.Conn
	use      *connlimit.Conn // tells which connections are idle
	refused  bool            // above the limit of connections

	mu struct {
		sync.Mutex
		cancel   context.CancelFunc // ends the request in flight; may be nil
		opened   bool               // the first request has begun
		idle     bool               // waits for a request
		draining bool               // ends with the next reply
		closing  bool               // ends when no further request arrives
		aborted  bool
		unread   unread // of a refused request
	}
}

// markIdle records that the session waits for a request.
func (s *session) markIdle() { s.mark(true) }

// markActive records that a request arrives. It removes the read deadline of a closing
// session.
func (s *session) markActive() { s.mark(false) }

func (s *session) mark(idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.idle == idle {
		return
	}
	s.mu.idle = idle
	if !s.mu.draining {
		return
	}
	if idle {
		s.sessions.count(-1)
	} else {
		s.sessions.count(1)
		s.sessions.touch()
	}
	if s.mu.closing && !s.mu.aborted {
		var at time.Time
		if idle {
			at = time.Now().Add(s.sessions.idleGrace)
		}
		_ = s.nc.SetReadDeadline(at)
	}
}

// retries reports whether to repeat a read that the read deadline ended while the session
// was idle: because requests arrived lately over other connections, so that one may be on its
// way here, or because one has just arrived. A failed TLS handshake is not repeated.
func (s *session) retries(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !ready(s.nc) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.idle || !s.mu.closing || s.mu.aborted {
		return false
	}
	wait := s.sessions.idleGrace - time.Since(*s.sessions.lastArrival.Load())
	if wait <= 0 && arrived(s.nc) {
		wait = s.sessions.idleGrace
	}
	if wait <= 0 {
		return false
	}
	_ = s.nc.SetReadDeadline(time.Now().Add(wait))
	return true
}

// opened records that the first request has begun, or that none will.
func (s *session) opened() {
	s.mu.Lock()
	already := s.mu.opened
	s.mu.opened = true
	s.mu.Unlock()
	if !already {
		s.sessions.countOpened()
	}
}

// draining reports whether the session ends with the next reply.
func (s *session) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.draining
}

// leaving reports whether the next reply says "Connection: close".
func (s *session) leaving() bool { return s.sessions.leaving.Load() || s.draining() }

// closingIdle reports whether the session is idle and ends when nothing arrives.
func (s *session) closingIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.idle && s.mu.closing
}

// setReadDeadline sets the read deadline, unless the session is closing and has the
// deadline of its end.
func (s *session) setReadDeadline(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.idle && s.mu.closing {
		return nil
	}
	return s.nc.SetReadDeadline(at)
}

func (s *session) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.draining && !s.mu.idle {
		s.sessions.busy.Add(1)
	}
	s.mu.draining = true
}

func (s *session) closeWhenIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closing = true
	if s.mu.idle && !s.mu.aborted {
		_ = s.nc.SetReadDeadline(time.Now().Add(s.sessions.idleGrace))
	}
}

func (s *session) abort() {
	s.mu.Lock()
	s.mu.aborted = true
	cancel := s.mu.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	_ = s.nc.Close()
}

// tooLate counts the connection if err says that its client did not send in time.
func (s *session) tooLate(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) && !s.closingIdle() {
		s.use.Late()
	}
}

// cancelWith sets the function that ends the request in flight.
func (s *session) cancelWith(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.cancel = cancel
	if s.mu.aborted && cancel != nil {
		cancel()
	}
}

// expect records how much of a refused request's body has not arrived yet.
func (s *session) expect(left int64, p pace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.unread = unread{left, p.within(lingerTime)}
}

// end ends the session. With linger, because its client may still be sending, it waits for the
// client to see the last reply.
func (s *session) end(linger bool) {
	s.markIdle()
	s.mu.Lock()
	aborted, left := s.mu.aborted, s.mu.unread
	s.mu.Unlock()
	if linger && !aborted {
		lingerClose(s.nc, left, s.draining)
	}
	_ = s.nc.Close()
	s.sessions.remove(s)
}
