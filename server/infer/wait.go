package infer

import (
	"context"
	"time"

	"triton/pkg/status"
)

var start = time.Now()

// Now is the monotonic clock in nanoseconds that all time stamps use.
func Now() int64 { return int64(time.Since(start)) }

// waiter is the sink of a unary request: it keeps the one response until the
// caller takes it.
type waiter struct {
	ch chan *Response
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
	if resp == nil {
		resp = NewResponse()
		resp.Err = status.New(status.Internal, "expected a single response, got 0")
	}
	w.ch <- resp
}

func (w *waiter) drain() {
	select {
	case resp := <-w.ch:
		resp.Release()
	default:
	}
}

// Unary makes the request keep its one response for Wait.
func (r *Request) Unary() { r.Sink = &r.wait }

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
