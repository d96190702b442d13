package python

import (
	"context"
	"sync"
)

// guard calls a function if a context is cancelled between enter and leave. Batches that
// run with the same context, as those of an instance do, register it once.
type guard struct {
	end func()

	mu struct {
		sync.Mutex
		done    <-chan struct{} // of the context
		stop    func() bool     // ends its registration
		running bool
	}
}

// enter begins a batch.
func (g *guard) enter(ctx context.Context) {
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
func (g *guard) watch(ctx context.Context) {
	g.close()
	done := ctx.Done()
	g.mu.Lock()
	g.mu.done = done
	g.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { g.cancelled(done) })
	g.mu.Lock()
	g.mu.stop = stop
	g.mu.Unlock()
}

func (g *guard) cancelled(done <-chan struct{}) {
	g.mu.Lock()
	running := g.mu.running && g.mu.done == done
	g.mu.Unlock()
	if running {
		g.end()
	}
}

// leave ends a batch.
func (g *guard) leave() {
	g.mu.Lock()
	g.mu.running = false
	g.mu.Unlock()
}

// close ends the registration.
func (g *guard) close() {
	g.mu.Lock()
	stop := g.mu.stop
	g.mu.done, g.mu.stop = nil, nil
	g.mu.Unlock()
	if stop != nil {
		stop()
	}
}
