// Package load keeps a number of prepared requests in flight and records the
// latency of each. Each concurrent request has a goroutine and a connection of
// its own. The package has no policy: its callers choose the concurrency and the
// duration, and decide stability.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

// Requests are the requests to send. Worker t of n starts at step t times Batch
// and advances by n times Batch, modulo the number of requests.
type Requests struct {
	// Prepared holds the request that begins with each step of the data.
	Prepared []*lane.Prepared
	Batch    int
	// Check compares the response to the request that begins with step with the
	// expected one. Without it responses are not kept.
	Check func(step int, x *lane.Exchange) error
}

// Dialer opens a lane per worker.
type Dialer interface {
	Dial(ctx context.Context) (lane.Conn, error)
}

// Generator drives the workers. Its methods are called by one goroutine, except
// Snapshot.
type Generator struct {
	dialer   Dialer
	requests Requests
	live     bool

	ctx        context.Context
	cancel     context.CancelFunc
	wg         sync.WaitGroup
	active     atomic.Int64 // workers of the level
	withQuota  atomic.Int64 // workers with a quota left
	quotaSpent chan struct{}
	failed     chan struct{} // closed when a worker has failed

	mu struct {
		sync.Mutex
		workers []*worker
		failed  bool
	}
}

// New returns a generator without workers. live keeps a running histogram for
// Snapshot. The workers end with Close or with ctx.
func New(ctx context.Context, d Dialer, r Requests, live bool) *Generator {
	g := &Generator{dialer: d, requests: r, live: live, quotaSpent: make(chan struct{}, 1), failed: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// SetLevel makes n workers send until the next call.
func (g *Generator) SetLevel(n int) { g.set(n, unlimited) }

// SetQuota makes n workers send total requests together. The returned channel receives a
// value when the last response has arrived; when a worker fails, Failed is closed instead.
func (g *Generator) SetQuota(n, total int) <-chan struct{} {
	g.withQuota.Store(int64(n))
	select {
	case <-g.quotaSpent:
	default:
	}
	g.set(n, int64(total))
	return g.quotaSpent
}

// Pause stops all workers after the request that each has in flight.
func (g *Generator) Pause() { g.set(0, 0) }

// set divides total among n workers; the first total mod n get one more.
func (g *Generator) set(n int, total int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n > 0 {
		g.active.Store(int64(n))
	}
	for len(g.mu.workers) < n {
		w := newWorker(g, len(g.mu.workers))
		g.mu.workers = append(g.mu.workers, w)
		g.wg.Go(w.run)
	}
	for i, w := range g.mu.workers {
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
		w.setQuota(share)
	}
}

func (g *Generator) workers() []*worker {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.workers
}

// ErrLoad is the failure of at least one worker.
var ErrLoad = errors.New("Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.")

// Err returns ErrLoad if a worker has failed.
func (g *Generator) Err() error {
	for _, w := range g.workers() {
		if w.err.Load() != nil {
			return ErrLoad
		}
	}
	return nil
}

// Failed is closed as soon as a worker has failed.
func (g *Generator) Failed() <-chan struct{} { return g.failed }

func (g *Generator) fail() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.mu.failed {
		g.mu.failed = true
		close(g.failed)
	}
}

// Failure is the error that stopped a worker.
type Failure struct {
	Worker int
	Err    error
}

// Failures returns the failures in the order of the workers.
func (g *Generator) Failures() []Failure {
	var all []Failure
	for i, w := range g.workers() {
		if err := w.err.Load(); err != nil {
			all = append(all, Failure{i, *err})
		}
	}
	return all
}

// Pending returns the number of completed requests that Collect has not returned.
func (g *Generator) Pending() int {
	n := 0
	for _, w := range g.workers() {
		n += w.recorder.Pending()
	}
	return n
}

// Collected holds what the workers recorded since the last Collect.
type Collected struct {
	Samples []measure.Sample
	Totals  measure.Totals // since the start
	// Waited is the mean over the workers of the time inside requests.
	Waited int64
}

// Collect moves the recorded samples to the end of samples.
func (g *Generator) Collect(samples []measure.Sample, now int64) Collected {
	b := Collected{Samples: samples}
	waiting := int64(0)
	for _, w := range g.workers() {
		var totals measure.Totals
		var waited int64
		b.Samples, totals, waited = w.recorder.Take(b.Samples, now, w.busy.Load())
		b.Totals = b.Totals.Add(totals)
		if waited > 0 {
			b.Waited += waited
			waiting++
		}
	}
	if waiting > 0 {
		b.Waited /= waiting
	}
	return b
}

// Snapshot adds all latencies since the start to c. Live views call it, from any
// goroutine.
func (g *Generator) Snapshot(c *measure.Counts) {
	for _, w := range g.workers() {
		if w.recorder.Histogram != nil {
			c.Merge(w.recorder.Histogram)
		}
	}
}

// Drain pauses the workers and waits until no request is in flight.
func (g *Generator) Drain(ctx context.Context) error {
	g.Pause()
	for _, w := range g.workers() {
		select {
		case <-w.whenIdle():
		case <-ctx.Done():
			return fmt.Errorf("waiting for requests in flight: %w", ctx.Err())
		}
	}
	return nil
}

// Close stops the workers at once and waits for them.
func (g *Generator) Close() {
	g.cancel()
	g.wg.Wait()
}
