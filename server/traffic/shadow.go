package traffic

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"triton/pkg/tensor"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// shadowOptions configure a shadow.
type shadowOptions struct {
	Config *trafficrules.Shadow
	// Acquire returns the target with a reference.
	Acquire func() (infer.Model, error)
	// Pool is the source of the memory of copies.
	Pool *tensor.Pool
	// Random returns a number from 0 to 1; nil: rand.Float64.
	Random func() float64
	// Log gets panics; nil: nothing does.
	Log *slog.Logger
}

// shadow copies answered requests of one name to another version or model and compares the outputs.
// The copies run after the answer, so that they neither delay nor fail it. Copies beyond the limits
// are dropped and counted. It does not choose targets of requests. Start starts its worker, Close
// ends it.
type shadow struct {
	opts  shadowOptions
	share float64
	jobs  chan *shadowCopy

	pending atomic.Int64 // copies that wait or run
	bytes   atomic.Int64 // of them
	counts  shadowCounts
	worker  sync.WaitGroup
	stop    context.CancelFunc
	mu      sync.Mutex // orders enqueueing before Close
	closed  bool
}

// newShadow returns a shadow. It starts nothing.
func newShadow(o shadowOptions) *shadow {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &shadow{opts: o, share: o.Config.Percent / 100, jobs: make(chan *shadowCopy, o.Config.Pending())}
	s.counts.kept = o.Config.KeptDiffs()
	return s
}

// Start starts the worker, which ends with ctx or Close.
func (s *shadow) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stop != nil {
		return
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.worker.Go(func() { s.run(ctx) })
}

// Close ends the worker, waits for it and drops the copies that wait. Requests whose copy was
// begun may still finish it.
func (s *shadow) Close() {
	s.mu.Lock()
	stop, was := s.stop, s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return
	}
	if stop != nil {
		stop()
	}
	s.worker.Wait()
	for {
		select {
		case c := <-s.jobs:
			c.Drop()
		default:
			return
		}
	}
}

// run sends the copies one after the other.
func (s *shadow) run(ctx context.Context) {
	for {
		select {
		case c := <-s.jobs:
			s.send(ctx, c)
		case <-ctx.Done():
			return
		}
	}
}

// enqueue gives a copy to the worker. It reports false if the shadow was closed or its queue is
// full.
func (s *shadow) enqueue(c *shadowCopy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	select {
	case s.jobs <- c:
		return true
	default:
		return false
	}
}

// Status returns the counts, and with diffs the sampled differences, the newest first.
func (s *shadow) Status(diffs bool) *trafficrules.ShadowStatus {
	st := s.counts.status(diffs)
	st.Pending = int(s.pending.Load())
	return st
}

// Config returns the configuration; read-only.
func (s *shadow) Config() *trafficrules.Shadow { return s.opts.Config }
