package load

import (
	"context"
	"sync"
	"time"

	"triton/pkg/client/lane"
)

// Session yields the requests of one session, of which each may depend on the answers before
// it. One goroutine uses it.
type Session interface {
	// Next sets r to the next request and returns the time to wait before it is sent. It
	// reports false at the end.
	Next(r *Request) (wait time.Duration, more bool, err error)
	// Answered takes the answer to the request.
	Answered(x *lane.Exchange) error
}

// Sessions keeps a number of sessions open: each worker takes the next one and sends its
// requests one after another.
type Sessions struct {
	finite
	list struct {
		sync.Mutex
		left []Session
	}
}

var _ Generator = (*Sessions)(nil)

// NewSessions returns a generator without workers, which end with Close or with ctx. Responses
// are kept.
func NewSessions(ctx context.Context, o Options, list []Session) *Sessions {
	g := &Sessions{}
	g.init(ctx, o)
	g.list.left = list
	return g
}

// Start keeps d.Concurrency sessions open, until none is left.
func (g *Sessions) Start(d Demand) <-chan struct{} {
	done := g.expect(d.Concurrency)
	for range d.Concurrency {
		g.start(g.run)
	}
	return done
}

// Drain starts no more requests and waits for those in flight.
func (g *Sessions) Drain(ctx context.Context) error {
	g.Pause()
	return g.drain(ctx)
}

func (g *Sessions) take() Session {
	g.list.Lock()
	defer g.list.Unlock()
	if len(g.list.left) == 0 {
		return nil
	}
	s := g.list.left[0]
	g.list.left = g.list.left[1:]
	return s
}

func (g *Sessions) run(w *worker) error {
	w.x.Keep = true
	for s := g.take(); s != nil && g.sleep(0); s = g.take() { // sleep: not after Pause
		for {
			more, err := g.turn(w, s)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return nil
}

// turn sends the next request of a session. It reports false at the end of the session, after
// Pause, and after a refused request: there is no answer for the next one to go on with.
func (g *Sessions) turn(w *worker, s Session) (more bool, err error) {
	wait, more, err := s.Next(&w.request)
	if err != nil || !more || !g.sleep(wait) {
		return false, err
	}
	if answered, err := w.exchange(g.ctx, 0); !answered || err != nil {
		return false, err
	}
	return true, s.Answered(&w.x)
}

// sleep reports false if Pause was called.
func (g *Sessions) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-g.pause():
		return false
	default:
	}
	select {
	case <-t.C:
		return true
	case <-g.pause():
	case <-g.ctx.Done():
	}
	return false
}
