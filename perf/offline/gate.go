package offline

import (
	"context"
	"sync"
)

// gate bounds a sum, such as requests in flight. Any goroutine may release, one at a time waits
// in acquire.
type gate struct {
	mu struct {
		sync.Mutex
		used, max int64
	}
	wake chan struct{}
}

func newGate(limit int64) *gate {
	g := &gate{wake: make(chan struct{}, 1)}
	g.mu.max = limit
	return g
}

// tryAcquire adds n if the sum stays within the limit, or if it is 0.
func (g *gate) tryAcquire(n int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.used > 0 && g.mu.used+n > g.mu.max {
		return false
	}
	g.mu.used += n
	return true
}

// acquire waits until tryAcquire succeeds.
func (g *gate) acquire(ctx context.Context, n int64) error {
	for ctx.Err() == nil {
		if g.tryAcquire(n) {
			return nil
		}
		select {
		case <-g.wake:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// release subtracts n. A negative n adds to the sum whatever the limit is.
func (g *gate) release(n int64) {
	g.mu.Lock()
	g.mu.used -= n
	g.mu.Unlock()
	g.signal()
}

func (g *gate) setLimit(n int64) {
	g.mu.Lock()
	g.mu.max = n
	g.mu.Unlock()
	g.signal()
}

func (g *gate) limit() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int(g.mu.max)
}

func (g *gate) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
