package cache

import (
	"context"
	"fmt"
	"log/slog"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Options configure a Runner.
type Options struct {
	Cache Cache
	// Scope identifies in keys everything that the answers of the model version
	// depend on, such as its files and configuration. Versions whose answers may
	// differ must have different scopes.
	Scope string
	// ScopeValid reports whether Scope identifies the model's answers now. Responses
	// are stored and used only while it returns true. Nil means always.
	ScopeValid func() bool
	// SingleFlight makes equal requests wait for the one that is being
	// computed.
	SingleFlight bool
	// Ordered makes hits wait for the responses of earlier requests.
	Ordered bool
	Pool    *tensor.Pool
	Stats   *stats.Model
	Log     *slog.Logger
}

// Runner answers requests from a cache. It passes the others to the next runner and stores
// their responses. The model must send one response to each request and must not use
// sequences.
type Runner struct {
	opts    Options
	next    infer.Runner
	flights *flights         // nil: every request is computed
	order   *scheduler.Order // nil: responses are sent in any order
}

var _ infer.Runner = (*Runner)(nil)

// New returns a runner with a cache in front of next.
func New(next infer.Runner, o Options) *Runner {
	c := &Runner{opts: o, next: next}
	if o.SingleFlight {
		c.flights = newFlights(c)
	}
	if o.Ordered {
		c.order = &scheduler.Order{}
	}
	return c
}

// Infer answers one request.
func (c *Runner) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if ctx.Err() != nil {
		return c.next.Infer(ctx, r)
	}
	r.Unary()
	if c.order != nil {
		return await(ctx, r, c.Submit)
	}
	answered, miss := c.lookup(ctx, r)
	switch {
	case answered:
		resp, err := r.Take(ctx)
		r.Release()
		return resp, err
	case miss != nil && c.flights != nil:
		return await(ctx, r, func(r *infer.Request) error { return c.flights.submit(r, miss) })
	}
	return c.next.Infer(ctx, r)
}

// await submits a request and waits for its one response.
func await(ctx context.Context, r *infer.Request, submit func(*infer.Request) error) (*infer.Response, error) {
	r.CancelWith(ctx)
	if err := submit(r); err != nil {
		r.Release()
		return nil, err
	}
	resp, err := r.Wait(ctx)
	if err != nil && r.Cancelled() {
		return nil, infer.Cancelled(ctx)
	}
	return resp, err
}

// Submit answers one request or queues it.
func (c *Runner) Submit(r *infer.Request) error {
	if c.order == nil {
		return c.submit(r)
	}
	return c.submitInOrder(r)
}

// submitInOrder enters the request into the order of responses and submits it. If that
// fails, or panics before a queue has accepted the request, the request leaves the order,
// because it will not be answered.
func (c *Runner) submitInOrder(r *infer.Request) (err error) {
	c.order.Enter(r)
	returned := false
	defer func() {
		if err != nil || !returned && r.State() == infer.Decoded {
			c.order.Leave(r)
		}
	}()
	err = c.submit(r)
	returned = true
	return err
}

func (c *Runner) submit(r *infer.Request) error {
	answered, miss := c.lookup(context.Background(), r)
	switch {
	case answered:
		r.Deliver()
		r.Release()
		return nil
	case miss != nil && c.flights != nil:
		return c.flights.submit(r, miss)
	}
	return c.next.Submit(r)
}

// lookup answers a request from the cache, and holds its response. For a miss it sets an
// observer, which will store the response. It does neither for a request that cannot be
// cached.
func (c *Runner) lookup(ctx context.Context, r *infer.Request) (answered bool, miss *missObserver) {
	queued := infer.Now()
	if r.Cancelled() || !c.scopeValid() || !copyForeign(c.opts.Pool, r.Inputs) {
		return false, nil
	}
	k := keyOf(c.opts.Scope, r)
	begin := infer.Now()
	resp := infer.NewResponse()
	hit := c.opts.Cache.Lookup(ctx, k, resp)
	end := infer.Now()
	if !hit {
		resp.Release()
		return false, c.observeMiss(r, k, end-begin)
	}
	r.Times.Queued = queued
	r.Hold()
	c.hit(r, resp, stats.CacheHit{Queued: begin - queued, Lookup: end - begin})
	return true, nil
}

func (c *Runner) scopeValid() bool { return c.opts.ScopeValid == nil || c.opts.ScopeValid() }

// hit sends a response that was not computed for r. It is counted before it is sent.
func (c *Runner) hit(r *infer.Request, resp *infer.Response, h stats.CacheHit) {
	r.Respond(resp, true)
	h.Total = infer.Now() - r.Times.Received
	if r.Failure() != nil { // the outputs cannot be written to the client's regions
		c.opts.Stats.Fail(stats.Other, h.Total)
	} else {
		c.opts.Stats.Hit(h)
	}
	r.ReleaseInputs()
}

// storeContained is store that only logs a panic of the cache.
func (c *Runner) storeContained(k Key, lookup int64, resp *infer.Response) {
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(c.opts.Log, "panic while a response was cached", p)
		}
	}()
	c.store(k, lookup, resp)
}

// store stores a response of the model, unless Scope no longer identifies the model's
// answers, and counts a miss. If the key has a response already, it counts nothing.
func (c *Runner) store(k Key, lookup int64, resp *infer.Response) {
	begin := infer.Now()
	var err error
	if c.scopeValid() {
		err = c.opts.Cache.Insert(k, resp)
	}
	if err == ErrExists { //nolint:errorlint // never wrapped
		return
	}
	c.opts.Stats.Miss(lookup + infer.Now() - begin)
	if err != nil {
		c.opts.Log.Error(fmt.Sprintf("Failed to insert key [%x] into response cache: %s", k[:8], status.From(err).Msg))
	}
}

// Ready reports whether the next runner is ready.
func (c *Runner) Ready() bool { return c.next.Ready() }

// Drain drains the next runner, then the followers.
func (c *Runner) Drain(ctx context.Context) error {
	err := c.next.Drain(ctx)
	if c.flights != nil {
		c.flights.drain(err == nil)
	}
	return err
}
