package child

import (
	"context"
	"sync"
)

// Guard calls a function if a context is cancelled between Enter and Leave. Batches that
// run with the same context, as those of an instance do, register it once.
type Guard struct {
	end func()

	mu struct {
		sync.Mutex
		done    <-chan struct{} // of the context
		stop    func() bool     // ends its registration
		running bool
	}
}

// NewGuard returns a Guard that calls end.
func NewGuard(end func()) *Guard { return &Guard{end: end} }

// Enter begins a batch.
func (g *Guard) Enter(ctx context.Context) {
	g.mu.Lock()
	known := g.mu.done == ctx.Done()
	g.mu.running = true
	g.mu.Unlock()
	if !known {
		g.watch(ctx)
	} else if ctx.Err() != nil {
		g.end()
	}
}

// watch registers a context in place of the one before.
func (g *Guard) watch(ctx context.Context) {
	g.Close()
	done := ctx.Done()
	g.mu.Lock()
	g.mu.done = done
	g.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { g.cancelled(done) })
	g.mu.Lock()
	g.mu.stop = stop
	g.mu.Unlock()
}

func (g *Guard) cancelled(done <-chan struct{}) {
	g.mu.Lock()
	running := g.mu.running && g.mu.done == done
	g.mu.Unlock()
	if running {
		g.end()
	}
}

// Leave ends a batch.
func (g *Guard) Leave() {
	g.mu.Lock()
	g.mu.running = false
	g.mu.Unlock()
}

// Close ends the registration.
func (g *Guard) Close() {
	g.mu.Lock()
	stop := g.mu.stop
	g.mu.done, g.mu.stop = nil, nil
	g.mu.Unlock()
	if stop != nil {
		stop()
	}
}
