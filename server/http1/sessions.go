package http1

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"triton/server/connlimit"
)

// sessions counts the connections of a server and ends them in order:
//
//	call       flag      busy connections             idle connections
//	Leave      leaving   the next reply is the last   answer one more request
//	Drain      draining  the same                     the same; no more connections are accepted
//	Shutdown   closing   the same                     end when nothing arrives for idleGrace
//	Close      aborted   end at once                  end at once
type sessions struct {
	idleGrace time.Duration
	running   sync.WaitGroup // the sessions and the accept loop

	mu struct {
		sync.Mutex
		listener                  net.Listener
		accepted                  chan struct{} // closed when the accept loop ended; nil: none ran
		sessions                  map[*session]struct{}
		refused                   int           // of them
		unopened                  int           // sessions whose first request has not begun
		allOpened                 chan struct{} // closed when unopened is 0; nil: nobody waits
		draining, closing, closed bool
	}
	// Set once a drain has begun: busy is the number of sessions with a request in flight,
	// idle receives a value whenever busy becomes 0, and lastArrival is when the last request
	// began to arrive.
	busy        atomic.Int64
	idle        chan struct{}
	lastArrival atomic.Pointer[time.Time]

	// leaving makes every reply the last one of its connection, while connections are still
	// accepted.
	leaving atomic.Bool
}

func newSessions(idleGrace time.Duration) *sessions {
	all := &sessions{idleGrace: idleGrace, idle: make(chan struct{}, 1)}
	if all.idleGrace <= 0 {
		all.idleGrace = defaultIdleGrace
	}
	all.mu.sessions = map[*session]struct{}{}
	return all
}

// add returns a session for a new connection; nil if the server is closed. A connection that was
// not given room, and those above a positive limit, are marked as refused, and when maxRefused are,
// add returns nil.
func (all *sessions) add(nc net.Conn, use *connlimit.Conn, room bool, limit int) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	refused := !room || limit > 0 && len(all.mu.sessions)-all.mu.refused >= limit
	switch {
	case all.mu.closed, refused && all.mu.refused == maxRefused:
		return nil
	case refused:
		all.mu.refused++
	default:
		all.mu.unopened++
	}
	s := &session{sessions: all, nc: nc, use: use, refused: refused}
	s.mu.opened = refused
	s.mu.draining, s.mu.closing = all.mu.draining, all.mu.closing
	if s.mu.draining {
		all.busy.Add(1)
	}
	all.mu.sessions[s] = struct{}{}
	all.running.Add(1)
	return s
}

// remove removes a session that has ended.
func (all *sessions) remove(s *session) {
	s.opened()
	s.use.Close()
	all.mu.Lock()
	delete(all.mu.sessions, s)
	if s.refused {
		all.mu.refused--
	}
	all.mu.Unlock()
	all.running.Done()
}

// forget removes a session whose connection others serve from now on. It reports false, and does nothing, if the
// session was ended.
func (all *sessions) forget(s *session) bool {
	all.mu.Lock()
	if all.mu.closed {
		all.mu.Unlock()
		return false
	}
	delete(all.mu.sessions, s)
	all.mu.Unlock()
	all.running.Done()
	return true
}

// countOpened counts a session whose first request has begun.
func (all *sessions) countOpened() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.mu.unopened--
	if all.mu.unopened == 0 && all.mu.allOpened != nil {
		close(all.mu.allOpened)
		all.mu.allOpened = nil
	}
}

// awaitOpened closes the listener and waits until the first request of every session has begun.
func (all *sessions) awaitOpened(ctx context.Context) {
	if accepted := all.startDrain(); accepted != nil {
		select {
		case <-accepted:
		case <-ctx.Done():
			return
		}
	}
	all.mu.Lock()
	if all.mu.unopened == 0 {
		all.mu.Unlock()
		return
	}
	if all.mu.allOpened == nil {
		all.mu.allOpened = make(chan struct{})
	}
	opened := all.mu.allOpened
	all.mu.Unlock()
	select {
	case <-opened:
	case <-ctx.Done():
	}
}

func (all *sessions) open() int64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	return int64(len(all.mu.sessions))
}

func (all *sessions) draining() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.mu.draining
}

// beginAccepting records the listener of the connections. During a drain it closes the listener and
// returns false.
func (all *sessions) beginAccepting(l net.Listener) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.mu.draining {
		_ = l.Close()
		return false
	}
	all.mu.listener, all.mu.accepted = l, make(chan struct{})
	all.running.Add(1)
	return true
}

// endAccepting records that the accept loop has ended.
func (all *sessions) endAccepting() {
	close(all.mu.accepted)
	all.running.Done()
}

// drain closes the listener, asks all connections to end with their next reply, and waits until
// no request is in flight.
func (all *sessions) drain(ctx context.Context) error {
	accepted := all.startDrain()
	if accepted != nil {
		select {
		case <-accepted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for all.busy.Load() > 0 {
		select {
		case <-all.idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	all.signalIdle() // for other drains: a signal wakes one
	return nil
}

// startDrain begins a drain. The channel is closed when the accept loop has ended; nil: none ran.
func (all *sessions) startDrain() (accepted <-chan struct{}) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.mu.draining && all.mu.listener != nil {
		_ = all.mu.listener.Close()
	}
	all.mu.draining = true
	for s := range all.mu.sessions {
		s.drain()
	}
	return all.mu.accepted
}

// finish drains, then ends the idle connections and waits for all.
func (all *sessions) finish(ctx context.Context) error {
	if err := all.drain(ctx); err != nil {
		return err
	}
	all.closeIdle()
	done := make(chan struct{})
	go func() {
		all.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeIdle ends the sessions without a request for idleGrace, the others with their next
// reply.
func (all *sessions) closeIdle() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.mu.closing = true
	all.touch()
	for s := range all.mu.sessions {
		s.closeWhenIdle()
	}
}

// abort ends all sessions at once, and later ones as they are added.
func (all *sessions) abort() {
	all.startDrain()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.mu.closed = true
	for s := range all.mu.sessions {
		s.abort()
	}
}

// touch records the arrival of a request, after which others are likely.
func (all *sessions) touch() {
	now := time.Now()
	all.lastArrival.Store(&now)
}

// count adds to the number of requests in flight.
func (all *sessions) count(n int64) {
	if all.busy.Add(n) == 0 {
		all.signalIdle()
	}
}

// signalIdle wakes one drain, now or when it starts to wait.
func (all *sessions) signalIdle() {
	select {
	case all.idle <- struct{}{}:
	default:
	}
}
