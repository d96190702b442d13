package infer

import (
	"context"

	"triton/pkg/nonblock"
	"triton/pkg/status"
)

// waiter is the sink of a request with one caller: it keeps the single response for Wait.
type waiter struct {
	ch    chan *Response // made by the first Unary and reused
	first *Response      // until the final response
	n     int
}

// Send keeps the first response, and delivers it at the end if it is the only one.
func (w *waiter) Send(resp *Response, final bool) {
	switch {
	case resp == nil:
	case w.n == 0:
		w.n, w.first = 1, resp
	default:
		w.n++
		resp.Release()
	}
	if !final {
		return
	}
	if w.n != 1 {
		w.drop()
		w.first = NewResponse()
		w.first.Err = status.New(status.Internal, "expected a single response, got %d", w.n)
	}
	resp, w.first, w.n = w.first, nil, 0
	w.ch <- resp
}

func (w *waiter) drop() {
	if w.first != nil {
		w.first.Release()
		w.first = nil
	}
}

func (w *waiter) reset() {
	w.drop()
	w.n = 0
	if len(w.ch) > 0 { // the response was never taken
		(<-w.ch).Release()
	}
}

// Unary makes the request keep its one response for Wait.
func (r *Request) Unary() {
	if r.wait.ch == nil { // not in NewRequest: few internal requests wait, and a channel must not leave its testing/synctest bubble
		r.wait.ch = make(chan *Response, 1)
	}
	r.Sink = &r.wait
}

// CancelWith makes Cancelled report true when ctx ends.
func (r *Request) CancelWith(ctx context.Context) {
	r.ctx = ctx
}

// Take returns the response to a caller that ran the batch itself: the held response, or
// the result of Wait when the request did not run in that batch or is answered later.
func (r *Request) Take(ctx context.Context) (*Response, error) {
	if resp := r.takeHeld(); resp != nil {
		return r.result(resp)
	}
	r.Deliver()
	return r.Wait(ctx)
}

// Wait blocks until the final response of a Unary request or the end of ctx, which
// cancels the request. The caller releases the response.
func (r *Request) Wait(ctx context.Context) (*Response, error) {
	if len(r.wait.ch) > 0 {
		return r.result(<-r.wait.ch)
	}
	nonblock.WillWait(ctx)
	select {
	case resp := <-r.wait.ch:
		return r.result(resp)
	case <-ctx.Done():
		r.Cancel()
		return nil, Cancelled(ctx)
	}
}

// Cancelled returns the error of a request whose context has ended.
func Cancelled(ctx context.Context) error {
	return &status.Error{Code: status.Cancelled, Cause: context.Cause(ctx)}
}

func (r *Request) result(resp *Response) (*Response, error) {
	if resp.Err != nil {
		err := resp.Err
		resp.Release()
		return nil, err
	}
	return resp, nil
}
