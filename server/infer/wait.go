package infer

import (
	"context"
	"time"
)

var start = time.Now()

// Now is the monotonic clock in nanoseconds that all time stamps use.
func Now() int64 { return int64(time.Since(start)) }

// waiter is the sink of a unary request: it keeps the one response until the
// caller takes it. While it is held the response stays in kept, so that the
// core can finish its own work on the batch before the caller wakes up.
type waiter struct {
	ch   chan *Response
	kept *Response
	held bool
}

// Send keeps the final response. A model that sends another number of
// responses than one is answered for by the caller of Wait.
func (w *waiter) Send(resp *Response, final bool) {
	if !final {
		// A second response would block; unary callers refuse decoupled models
		// before they submit, so this is a backend's fault.
		if resp != nil {
			resp.Release()
		}
		return
	}
	if w.held {
		w.kept = resp
		return
	}
	w.ch <- resp
}

func (w *waiter) reset() {
	w.held = false
	if w.kept != nil {
		w.kept.Release()
		w.kept = nil
	}
	select {
	case resp := <-w.ch:
		resp.Release()
	default:
	}
}

// Unary makes the request keep its one response for Wait.
func (r *Request) Unary() { r.Sink = &r.wait }

func (r *Request) unary() bool { return r.Sink == &r.wait }

// Bind makes the end of ctx cancel the request, for whoever polls Cancelled.
func (r *Request) Bind(ctx context.Context) {
	if ctx.Done() != nil {
		r.ctx = ctx
	}
}

// Hold keeps the final response of a Unary request back until Deliver or Take;
// other requests are not affected. The core calls it before a backend may
// answer.
func (r *Request) Hold() { r.wait.held = r.unary() }

// Deliver hands a response that was held to the caller of Wait. The request may
// be gone when it returns, unless the caller of Deliver has a reference.
func (r *Request) Deliver() {
	if !r.wait.held {
		return
	}
	r.wait.held = false
	resp := r.wait.kept
	r.wait.kept = nil
	r.wait.ch <- resp
}

// Take is the response for a caller that ran the batch itself: the one that was
// held or, when its own request did not come to run, the one it got instead.
func (r *Request) Take() (*Response, error) {
	r.wait.held = false
	resp := r.wait.kept
	r.wait.kept = nil
	if resp == nil {
		resp = <-r.wait.ch
	}
	return r.result(resp)
}

// Wait blocks until the final response of a Unary request or the end of ctx.
// The response is the caller's to release. On the end of ctx the request is
// marked cancelled and the caller must still take it from its queue.
func (r *Request) Wait(ctx context.Context) (*Response, error) {
	done := ctx.Done()
	if done == nil {
		return r.result(<-r.wait.ch)
	}
	select {
	case resp := <-r.wait.ch:
		return r.result(resp)
	case <-done:
		r.Cancel()
		return nil, context.Cause(ctx)
	}
}

func (r *Request) result(resp *Response) (*Response, error) {
	if resp.Err != nil {
		err := resp.Err
		resp.Release()
		return nil, err
	}
	return resp, nil
}
