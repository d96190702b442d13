package httpapi

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ending counts the connections of a server and ends them in order: a drain asks
// each to end with its next reply, closeIdle then ends those that bring no more
// requests, and cut ends the rest at once.
type ending struct {
	linger time.Duration
	all    sync.WaitGroup // the sessions, and what else the server waits for

	mu struct {
		sync.Mutex
		listener                  net.Listener
		accepted                  chan struct{} // closed when no more come; nil: none did
		sessions                  map[*session]struct{}
		refused                   int // of them
		draining, closing, closed bool
	}
	// From the drain on: how many sessions are at a request, a mark of each time
	// that there are none, and when the last request began to arrive.
	busy atomic.Int64
	calm chan struct{}
	last atomic.Pointer[time.Time]
}

func newEnding(linger time.Duration) *ending {
	e := &ending{linger: linger, calm: make(chan struct{}, 1)}
	if e.linger <= 0 {
		e.linger = defaultLinger
	}
	e.mu.sessions = map[*session]struct{}{}
	return e
}

// add makes the session of a connection that is about to bring a request; nil
// when the server is closed. Above limit, if positive, the session is to be
// refused, and if too many are, nil.
func (e *ending) add(nc net.Conn, limit int) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	refused := limit > 0 && len(e.mu.sessions)-e.mu.refused >= limit
	switch {
	case e.mu.closed, refused && e.mu.refused == maxRefused:
		return nil
	case refused:
		e.mu.refused++
	}
	s := &session{end: e, nc: nc, refused: refused}
	s.mu.drain, s.mu.closing = e.mu.draining, e.mu.closing
	if s.mu.drain {
		e.busy.Add(1)
	}
	e.mu.sessions[s] = struct{}{}
	e.all.Add(1)
	return s
}

// remove forgets a session that has ended.
func (e *ending) remove(s *session) {
	e.mu.Lock()
	delete(e.mu.sessions, s)
	if s.refused {
		e.mu.refused--
	}
	e.mu.Unlock()
	e.all.Done()
}

func (e *ending) open() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int64(len(e.mu.sessions))
}

func (e *ending) draining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.draining
}

// accept notes the listener that connections come from; false when they do not
// any more. Then it is closed.
func (e *ending) accept(l net.Listener) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.draining {
		_ = l.Close()
		return false
	}
	e.mu.listener, e.mu.accepted = l, make(chan struct{})
	e.all.Add(1)
	return true
}

// accepted notes that no more connections come.
func (e *ending) accepted() {
	close(e.mu.accepted)
	e.all.Done()
}

// drain takes no new connections, asks the others to end with their next reply,
// and waits until none is at a request.
func (e *ending) drain(ctx context.Context) error {
	accepted := e.refuse()
	if accepted != nil {
		select {
		case <-accepted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for e.busy.Load() > 0 {
		select {
		case <-e.calm:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.mark() // for others that drain: a mark wakes one
	return nil
}

// refuse begins the drain.
func (e *ending) refuse() (accepted <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.mu.draining && e.mu.listener != nil {
		_ = e.mu.listener.Close()
	}
	e.mu.draining = true
	for s := range e.mu.sessions {
		s.drain()
	}
	return e.mu.accepted
}

// finish is drain, then ends the idle connections and waits for all.
func (e *ending) finish(ctx context.Context) error {
	if err := e.drain(ctx); err != nil {
		return err
	}
	e.closeIdle()
	done := make(chan struct{})
	go func() {
		e.all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeIdle ends the sessions that bring no request for the linger time, the
// others with their next reply.
func (e *ending) closeIdle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.closing = true
	e.touch()
	for s := range e.mu.sessions {
		s.close()
	}
}

// cut ends all sessions at once, and those that come.
func (e *ending) cut() {
	e.refuse()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.closed = true
	for s := range e.mu.sessions {
		s.cut()
	}
}

// touch notes that a request has come, which others may follow.
func (e *ending) touch() {
	now := time.Now()
	e.last.Store(&now)
}

// count adds to busy and marks the moment when there are none.
func (e *ending) count(n int64) {
	if e.busy.Add(n) == 0 {
		e.mark()
	}
}

// mark wakes one that drains, now or when it comes.
func (e *ending) mark() {
	select {
	case e.calm <- struct{}{}:
	default:
	}
}

// session is one connection as the end of its server sees it.
type session struct {
	end     *ending
	nc      net.Conn
	refused bool // above the limit of connections

	mu struct {
		sync.Mutex
		cancel  context.CancelFunc // ends what runs for it; may be nil
		idle    bool               // waits for a request
		drain   bool               // ends with its next reply
		closing bool               // ends when no request comes any more
		cut     bool
		unread  unread // of a refused request
	}
}

// rest notes that the session waits for a request.
func (s *session) rest() { s.become(true) }

// work notes that a request arrives. The read deadline of a closing session is
// gone afterwards.
func (s *session) work() { s.become(false) }

func (s *session) become(idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.idle == idle {
		return
	}
	s.mu.idle = idle
	if !s.mu.drain {
		return
	}
	if idle {
		s.end.count(-1)
	} else {
		s.end.count(1)
		s.end.touch()
	}
	if s.mu.closing && !s.mu.cut {
		var at time.Time
		if idle {
			at = time.Now().Add(s.end.linger)
		}
		_ = s.nc.SetReadDeadline(at)
	}
}

// waits says whether a read that failed while the session rests is to be tried
// again: the read deadline ended it, and either requests came lately over other
// connections, so that one may be on its way here, or it has come just now. A TLS
// handshake that failed stays so.
func (s *session) waits(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !ready(s.nc) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.idle || !s.mu.closing || s.mu.cut {
		return false
	}
	wait := s.end.linger - time.Since(*s.end.last.Load())
	if wait <= 0 && arrived(s.nc) {
		wait = s.end.linger
	}
	if wait <= 0 {
		return false
	}
	_ = s.nc.SetReadDeadline(time.Now().Add(wait))
	return true
}

// ends says whether the session is to end with the next reply.
func (s *session) ends() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.drain
}

// fades says whether the session rests and is to end when nothing comes.
func (s *session) fades() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.idle && s.mu.closing
}

// setReadDeadline sets the read deadline unless the session fades: then it has
// that of its end.
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
	if !s.mu.drain && !s.mu.idle {
		s.end.busy.Add(1)
	}
	s.mu.drain = true
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closing = true
	if s.mu.idle && !s.mu.cut {
		_ = s.nc.SetReadDeadline(time.Now().Add(s.end.linger))
	}
}

func (s *session) cut() {
	s.mu.Lock()
	s.mu.cut = true
	cancel := s.mu.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	_ = s.nc.Close()
}

// cancelWith says how to end what runs for the session.
func (s *session) cancelWith(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.cancel = cancel
	if s.mu.cut {
		cancel()
	}
}

// refuses notes how much of a refused request's body is still to come.
func (s *session) refuses(left int64, at pace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.unread = unread{left, at.within(lingerTime)}
}

// leave ends the session. If its client may still be sending, politely waits for
// it, so that it sees the last reply.
func (s *session) leave(politely bool) {
	s.rest()
	s.mu.Lock()
	cut, left := s.mu.cut, s.mu.unread
	s.mu.Unlock()
	if politely && !cut {
		lingerOn(s.nc, left, s.ends)
	}
	_ = s.nc.Close()
	s.end.remove(s)
}
