package infer

import (
	"context"
	"sync"
	"time"
)

// Submitter finds the models that a model calls while it serves a request: the steps of
// an ensemble, or any model that a backend names. A model may be used until Release, even
// when it is unloaded or replaced meanwhile, and requests submitted on behalf of an
// accepted request are accepted while the server drains. A reference must not outlive the
// request, or the model is never closed.
type Submitter interface {
	// Acquire returns a ready version of a model with a reference. An empty version
	// selects the newest.
	Acquire(model, version string) (Callee, error)
}

// Callee is a model that another model calls.
type Callee interface {
	Model
	// Ready reports whether it can serve requests now.
	Ready() bool
	// CheckReady calls the readiness checks of the instances and returns why the model
	// takes no requests; nil when it takes them. It may take seconds.
	CheckReady() error
}

// Controller lets a model load and unload models. Its methods are those of Service.
type Controller interface {
	ModelReady(name, version string) (bool, error)
	Load(ctx context.Context, name string, o LoadOptions) error
	Unload(ctx context.Context, name string, dependents bool) error
}

// Call runs a request on a model that s finds and waits for its one response, as
// Model.Infer does. It consumes the core's reference to r in every case. parent is the
// request for which r is made, or nil; the wait ends when ctx ends or parent is cancelled.
// A model may call itself. When all its instances wait for such calls, they wait until
// ctx ends or parent is cancelled.
func Call(ctx context.Context, s Submitter, model, version string, r, parent *Request) (*Response, error) {
	ctx, stop := parent.callContext(ctx)
	defer stop()
	m, err := acquire(ctx, s, model, version)
	if err != nil {
		r.Release()
		return nil, err
	}
	defer m.Release()
	return m.Infer(ctx, r)
}

// cancelPoll is the interval at which a call checks whether its parent is cancelled.
const cancelPoll = 10 * time.Millisecond

// callContext returns a context that ends with ctx or when the request is cancelled. For
// a nil request it returns ctx.
func (r *Request) callContext(ctx context.Context) (_ context.Context, stop func()) {
	if r == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if r.ctx != nil {
		parent := r.ctx
		end := context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })
		return ctx, func() { end(); cancel(nil) }
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(cancelPoll)
		defer tick.Stop()
		for !r.Cancelled() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(context.Canceled)
	})
	return ctx, func() { cancel(nil); watch.Wait() }
}

// Post submits a request to a model that s finds, as Model.Submit. It holds the model
// until r has its final response.
func Post(s Submitter, model, version string, r *Request) error {
	m, err := s.Acquire(model, version)
	if err != nil {
		r.Release()
		return err
	}
	h := &modelReleaser{next: r.Sink, model: m}
	r.Sink = h
	posted := false
	defer func() {
		if !posted { // after a panic a response may still be sent
			h.release()
		}
	}()
	err = m.Submit(r)
	posted = err == nil
	return err
}

// modelReleaser releases a model after the final response.
type modelReleaser struct {
	next  Sink
	model Model
	once  sync.Once
}

func (h *modelReleaser) release() { h.once.Do(h.model.Release) }

// Send passes a response on.
func (h *modelReleaser) Send(resp *Response, final bool) {
	if final {
		defer h.release()
	}
	h.next.Send(resp, final)
}
