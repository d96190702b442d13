// Package infer is the vocabulary of inference in flight: a request with its
// state and time stamps, the batch an instance runs, the response, and the
// service that the front ends call. It holds no policy: scheduling, execution
// and the wire live elsewhere.
package infer

import (
	"context"
	"sync"
	"sync/atomic"

	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// State is where a request is in its life.
//
//	from       event                                   to
//	Decoded    accepted by a scheduler                 Queued
//	Queued     cut into a batch by an instance         Executing
//	Queued     rejected, timed out or cancelled        Answered
//	Executing  final response sent                     Answered
//
// Exactly one final response is sent. A cancel in Queued answers at once, in
// Executing it only sets the flag. The memory is given back when both the
// front end and the core have called Release.
type State uint32

// The states.
const (
	Decoded State = iota
	Queued
	Executing
	Answered
)

// Sink receives the responses of one request, in order. Send takes ownership
// of resp, must not block, and is called from any goroutine; after final it is
// not called again. A final Send with a nil resp ends a stream that has no
// further data.
type Sink interface {
	Send(resp *Response, final bool)
}

// Request is one request in flight. It comes from NewRequest with two
// references, one for the front end and one for the core.
type Request struct {
	kserve.Request

	// Batch is the request's own batch size: the first dimension when the model
	// batches, else 0.
	Batch int
	// Sink is set by whoever submits the request.
	Sink Sink
	// Times are the time stamps, by Now.
	Times Times
	// Trace follows the request; nil for most. Whoever makes the request sets it.
	Trace Trace

	state     atomic.Uint32
	cancelled atomic.Bool
	overdone  atomic.Bool
	refs      atomic.Int32
	failed    bool
	pooled    bool
	ctx       context.Context // of a request that one caller waits for
	wait      waiter

	next, prev *Request // in a List
}

// Times are monotonic time stamps in nanoseconds. The four compute stamps are
// those of the batch.
type Times struct {
	Received     int64
	Queued       int64
	ComputeStart int64
	InputEnd     int64
	OutputStart  int64
	ComputeEnd   int64
	Answered     int64 // the final response
}

var requests = sync.Pool{New: func() any {
	r := &Request{pooled: true}
	r.wait.ch = make(chan *Response, 1)
	return r
}}

// NewRequest is an empty request in state Decoded, received now.
func NewRequest() *Request {
	return requests.Get().(*Request).begin()
}

// NewUnpooled is NewRequest without the pool. Tests in a testing/synctest
// bubble need it: the channel inside a request must not leave its bubble.
func NewUnpooled() *Request {
	r := &Request{}
	r.wait.ch = make(chan *Response, 1)
	return r.begin()
}

func (r *Request) begin() *Request {
	r.refs.Store(2)
	r.Times = Times{Received: Now()}
	return r
}

// Release gives back the front end's or the core's reference; the last one
// releases the inputs and returns the request to its pool.
func (r *Request) Release() {
	n := r.refs.Add(-1)
	if n > 0 {
		return
	}
	if n < 0 {
		panic("infer: request released more often than held")
	}
	invariant.Check(r.next == nil && r.prev == nil, "request released while it stands in a list")
	if r.Trace != nil {
		r.Trace.End(r)
		r.Trace = nil
	}
	r.Reset()
	r.Batch, r.Sink, r.ctx, r.failed = 0, nil, nil, false
	r.state.Store(uint32(Decoded))
	r.cancelled.Store(false)
	r.overdone.Store(false)
	r.wait.reset()
	if r.pooled {
		requests.Put(r)
	}
}

// ReleaseInputs gives the input memory back early, before the reply is encoded.
func (r *Request) ReleaseInputs() {
	kserve.ReleaseTensors(r.Inputs)
}

// State is the current state.
func (r *Request) State() State { return State(r.state.Load()) }

// Move changes the state; false when the request is not in from any more.
func (r *Request) Move(from, to State) bool {
	return r.state.CompareAndSwap(uint32(from), uint32(to))
}

// Cancel marks that nobody waits for the answer any more.
func (r *Request) Cancel() { r.cancelled.Store(true) }

// Cancelled says that nobody waits any more; backends may poll it.
func (r *Request) Cancelled() bool {
	return r.cancelled.Load() || r.ctx != nil && r.ctx.Err() != nil
}

// Respond sends one response through the sink. A final one moves the request
// to Answered; whatever comes after it is dropped and leaves the mark Overdone.
func (r *Request) Respond(resp *Response, final bool) {
	if r.answered(final) {
		r.overdone.Store(true)
		if resp != nil {
			resp.Release()
		}
		return
	}
	if resp == nil && final && r.unary() {
		resp = NewResponse()
		resp.Err = status.New(status.Internal, "expected a single response, got 0")
	}
	if final {
		r.Times.Answered = Now()
	}
	if resp != nil {
		resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, r.ModelVersion, r.ID
		r.place(resp)
		if r.Trace != nil {
			r.Trace.Respond(r, resp)
		}
		if final && resp.Err != nil {
			r.failed = true
		}
	}
	r.Sink.Send(resp, final)
}

// answered says whether the request had its final answer before; it has it now
// when final is set.
func (r *Request) answered(final bool) bool {
	if final {
		return State(r.state.Swap(uint32(Answered))) == Answered
	}
	return r.State() == Answered
}

// Fail answers the request with an error, finally.
func (r *Request) Fail(err error) {
	resp := NewResponse()
	resp.Err = err
	r.Respond(resp, true)
}

// Failed says whether the final response carried an error. Only the core may
// ask, once the backend is done with the request.
func (r *Request) Failed() bool { return r.failed }

// Overdone says whether responses came after the final one.
func (r *Request) Overdone() bool { return r.overdone.Load() }

// Rows is the batch size as batchers count it: at least 1.
func (r *Request) Rows() int { return max(r.Batch, 1) }

// Tag is how messages about the request begin: "[request id: <id>] ".
func (r *Request) Tag() string {
	if r.ID == "" {
		return "[request id: <id_unknown>] "
	}
	return "[request id: " + r.ID + "] "
}

// Response is one response in flight. Err set means the request failed and the
// outputs do not count.
type Response struct {
	kserve.Response
	Err error
}

var responses = sync.Pool{New: func() any { return &Response{} }}

// NewResponse is an empty response.
func NewResponse() *Response { return responses.Get().(*Response) }

// Add appends an output whose data moves into the response. The shape is
// copied.
func (r *Response) Add(name string, d tensor.DataType, shape tensor.Shape, data tensor.Data) {
	t := r.AddOutput()
	t.Name, t.DataType, t.Data = name, d, data
	t.Shape = append(t.Shape[:0], shape...)
}

// Release gives the output memory back; the response must not be used again.
func (r *Response) Release() {
	r.Reset()
	r.Err = nil
	responses.Put(r)
}
