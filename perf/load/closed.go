package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Closed keeps a number of requests in flight: each worker sends its next request when the
// one before is answered. Worker t of n sends requests t, t+n, t+2n and so on of the source.
type Closed struct {
	pool
	active    atomic.Int64  // workers of the level
	quotas    atomic.Int64  // workers with a quota left
	totalDone chan struct{} // receives when the last of a number of requests is answered
	loops     []*loop       // of the workers, in their order
}

var _ Generator = (*Closed)(nil)

// NewClosed returns a generator without workers, which end with Close or with ctx.
func NewClosed(ctx context.Context, o Options) *Closed {
	g := &Closed{totalDone: make(chan struct{}, 1)}
	g.init(ctx, o)
	return g
}

// Start keeps d.Concurrency requests in flight. The first d.Total mod d.Concurrency workers
// send one request more than the others.
func (g *Closed) Start(d Demand) <-chan struct{} {
	if d.Total == 0 {
		g.set(d.Concurrency, unlimited)
		return nil
	}
	g.quotas.Store(int64(min(d.Concurrency, d.Total)))
	select {
	case <-g.totalDone:
	default:
	}
	g.set(d.Concurrency, int64(d.Total))
	return g.totalDone
}

// Connect opens the connections of n workers in advance.
func (g *Closed) Connect(ctx context.Context, n int) error {
	g.grow(n)
	for _, l := range g.loops[:n] {
		select {
		case <-l.connected:
		case <-g.failed:
			return ErrLoad
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Answered reports whether every worker of the level has received a response since Start.
func (g *Closed) Answered() bool {
	for _, l := range g.loops[:g.active.Load()] {
		// The second request starts when the first is answered.
		if l.started.Load() < l.atStart+2 {
			return false
		}
	}
	return true
}

// Pause stops all workers after the request that each has in flight.
func (g *Closed) Pause() { g.set(0, 0) }

// Drain pauses the workers and waits until no request is in flight.
func (g *Closed) Drain(ctx context.Context) error {
	g.Pause()
	for _, l := range g.loops {
		select {
		case <-l.idled():
		case <-ctx.Done():
			return fmt.Errorf("waiting for requests in flight: %w", ctx.Err())
		}
	}
	return nil
}

// set divides total among n workers; the first total mod n get one more. With n 0, which pauses all, active
// stays: the workers number their requests by it, and Answered asks those.
func (g *Closed) set(n int, total int64) {
	if n > 0 {
		g.active.Store(int64(n))
	}
	g.grow(n)
	for i, l := range g.loops {
		share := total
		switch {
		case i >= n:
			share = 0
		case total > 0:
			share = total / int64(n)
			if int64(i) < total%int64(n) {
				share++
			}
		}
		l.setQuota(share)
	}
}

// grow adds workers until there are n.
func (g *Closed) grow(n int) {
	for len(g.loops) < n {
		l := &loop{worker: g.addWorker(), g: g, wake: make(chan struct{}, 1), connected: make(chan struct{})}
		g.loops = append(g.loops, l)
		g.launch(l.worker, l.run)
	}
}

const unlimited = -1

// loop is the closed loop of one worker: it keeps one request in flight while it has
// requests left to send.
type loop struct {
	*worker
	g    *Closed
	left atomic.Int64 // requests to send; unlimited, or 0 to pause
	wake chan struct{}

	connected chan struct{} // closed once the connection is open
	atStart   uint64        // requests started before the level

	idle struct {
		sync.Mutex
		now     bool
		waiting []chan struct{} // closed when the loop becomes idle
	}
}

// setQuota replaces the number of requests left to send.
func (l *loop) setQuota(n int64) {
	l.atStart = l.started.Load()
	l.left.Store(n)
	if n == 0 {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// idled returns a channel that is closed once the loop has nothing in flight.
func (l *loop) idled() <-chan struct{} {
	c := make(chan struct{})
	l.idle.Lock()
	defer l.idle.Unlock()
	if l.idle.now && l.left.Load() == 0 {
		close(c)
		return c
	}
	l.idle.waiting = append(l.idle.waiting, c)
	return c
}

func (l *loop) setIdle(idle bool) {
	l.idle.Lock()
	defer l.idle.Unlock()
	l.idle.now = idle
	if idle {
		for _, c := range l.idle.waiting {
			close(c)
		}
		l.idle.waiting = nil
	}
}

func (l *loop) run(*worker) error {
	ctx := l.g.ctx
	defer l.setIdle(true)
	if err := l.dial(ctx); err != nil {
		return err
	}
	close(l.connected)
	if err := l.await(ctx); err != nil {
		return err
	}
	for next := uint64(l.id); ; {
		if err := l.sendQuota(ctx, &next); err != nil {
			return err
		}
		if err := l.await(ctx); err != nil {
			return err
		}
	}
}

// sendQuota sends until the quota is spent. next is the number of the next request, which it
// advances.
func (l *loop) sendQuota(ctx context.Context, next *uint64) error {
	for {
		n := *next
		*next += uint64(l.g.active.Load())
		if err := l.send(ctx, n, 0); err != nil {
			return err
		}
		if l.spend() {
			return nil
		}
	}
}

// spend counts a completed request and reports whether the quota is spent.
func (l *loop) spend() bool {
	for {
		n := l.left.Load()
		switch {
		case n == unlimited:
			return false
		case n == 0:
			return true
		case l.left.CompareAndSwap(n, n-1):
			if n > 1 {
				return false
			}
			l.finishQuota()
			return true
		}
	}
}

// finishQuota signals the generator if this was the last worker with a quota.
func (l *loop) finishQuota() {
	if l.g.quotas.Add(-1) != 0 {
		return
	}
	select {
	case l.g.totalDone <- struct{}{}:
	default:
	}
}

// await waits for a quota. Before it waits it ends the worker's open sequence.
func (l *loop) await(ctx context.Context) error {
	for l.left.Load() == 0 {
		if err := l.endSequence(ctx); err != nil {
			return err
		}
		l.setIdle(true)
		select {
		case <-l.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		// The loop then reads left again. If Pause or Drain ran in between, it has either
		// seen this worker idle or waits for it to become idle again.
		l.setIdle(false)
	}
	return ctx.Err()
}
