package lane

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/client/internal/h2"
)

// connectTimeout limits dialing, TLS and the settings of the server together, as in grpc-go.
const connectTimeout = 20 * time.Second

// sharedConn is a connection of some lanes. It opens another one when the server has ended it.
type sharedConn struct {
	dial    func(context.Context) (*h2.Conn, error)
	lanes   int // client.mu guards it
	current atomic.Pointer[h2.Conn]

	mu struct {
		sync.Mutex
		ending  []*h2.Conn // on which calls may run that began before the server wanted no more
		attempt *attempt
		closed  bool
	}
}

// attempt is the opening of a connection, for which all lanes wait.
type attempt struct {
	done chan struct{}
	conn *h2.Conn
	err  error
	// interrupted is set if the lane that opens the connection gave up; the others try again.
	interrupted bool
}

// connection returns a connection for a call.
func (s *sharedConn) connection(ctx context.Context) (*h2.Conn, error) {
	for {
		if c := s.current.Load(); c != nil && c.Usable() {
			return c, nil
		}
		a, mine, err := s.join()
		if err != nil {
			return nil, err
		}
		if mine {
			s.open(ctx, a)
			return a.conn, a.err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !a.interrupted {
			return a.conn, a.err
		}
	}
}

// join returns the attempt that runs, or one that the caller must carry out.
func (s *sharedConn) join() (a *attempt, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil, false, errClosed
	}
	if s.mu.attempt != nil {
		return s.mu.attempt, false, nil
	}
	if c := s.current.Load(); c != nil && c.Usable() { // of an attempt that has just ended
		done := make(chan struct{})
		close(done)
		return &attempt{done: done, conn: c}, false, nil
	}
	s.mu.attempt = &attempt{done: make(chan struct{})}
	return s.mu.attempt, true, nil
}

func (s *sharedConn) open(ctx context.Context, a *attempt) {
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := s.dial(limited)
	s.mu.Lock()
	if err == nil && s.mu.closed {
		err = errClosed
	}
	a.conn, a.err, a.interrupted = conn, err, ctx.Err() != nil
	if err == nil {
		s.mu.ending = slices.DeleteFunc(s.mu.ending, (*h2.Conn).Ended)
		if old := s.current.Swap(conn); old != nil && !old.Ended() {
			s.mu.ending = append(s.mu.ending, old)
		}
	}
	s.mu.attempt = nil
	close(a.done)
	s.mu.Unlock()
	if err != nil && conn != nil {
		conn.Close()
		a.conn = nil
	}
}

// close ends all calls and waits until nothing runs on the connections.
func (s *sharedConn) close() {
	s.mu.Lock()
	s.mu.closed = true
	all := s.mu.ending
	if c := s.current.Load(); c != nil {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
