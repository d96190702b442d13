package infer

import (
	"context"
	"sync"
	"time"
)

// Submitter finds the models that a model calls while it works on a request: an
// ensemble those of its steps, an engine any that it names. The same rule holds for
// both: who holds a model may use it until Release, also when it is unloaded or
// replaced meanwhile, and what is submitted on behalf of an accepted request is
// accepted while the server drains. A model must not be held for longer than a
// request takes, or it is never closed.
type Submitter interface {
	// Hold finds a ready version of a model and takes a reference to it. An empty
	// version is the newest.
	Hold(model, version string) (Callee, error)
}

// Callee is a model that another one calls.
type Callee interface {
	Model
	// Ready reports whether it can serve requests now.
	Ready() bool
}

// Call runs a request on a model that s finds and waits for its one response, as
// Model.Infer: it uses up the core's reference to r in every case, and the end of
// ctx ends the wait. A model may call itself; when all its instances wait for such
// calls, nothing but ctx ends them. Parent is the request that r is made for: when
// nobody waits for it any more, the call ends too; nil for none.
func Call(ctx context.Context, s Submitter, model, version string, r, parent *Request) (*Response, error) {
	m, err := s.Hold(model, version)
	if err != nil {
		r.Release()
		return nil, err
	}
	defer m.Release()
	ctx, stop := parent.waited(ctx)
	defer stop()
	return m.Infer(ctx, r)
}

// glance is how often a call looks whether somebody still waits for the request that
// it is made for.
const glance = 10 * time.Millisecond

// waited returns a context that ends with ctx and when nobody waits for the request
// any more. A nil request has ctx.
func (r *Request) waited(ctx context.Context) (_ context.Context, stop func()) {
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
		tick := time.NewTicker(glance)
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

// Post submits a request to a model that s finds, as Model.Submit. The model is held
// until r has its final response.
func Post(s Submitter, model, version string, r *Request) error {
	m, err := s.Hold(model, version)
	if err != nil {
		r.Release()
		return err
	}
	h := &holder{next: r.Sink, model: m}
	r.Sink = h
	posted := false
	defer func() {
		if !posted { // refused, or a panic, after which something may be sent
			h.release()
		}
	}()
	err = m.Submit(r)
	posted = err == nil
	return err
}

// holder gives a model back after the final response.
type holder struct {
	next  Sink
	model Model
	once  sync.Once
}

func (h *holder) release() { h.once.Do(h.model.Release) }

// Send passes a response on.
func (h *holder) Send(resp *Response, final bool) {
	if final {
		defer h.release()
	}
	h.next.Send(resp, final)
}
