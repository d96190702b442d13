// Package infer is the vocabulary of inference in flight: a request with its
// state and time stamps, the batch an instance runs, the response, and the
// service that the front ends call. It holds no policy: scheduling, execution
// and the wire live elsewhere.
package infer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// State is where a request is in its life.
//
//	from       event                                   to
//	Decoded    accepted by a scheduler                 Queued
//	Queued     cut into a batch by an instance         Executing
//	Queued     rejected, timed out or cancelled        Answered
//	any        final response given                    Answered
//	Answered   rescheduled by its engine               Decoded
//
// Exactly one final response is sent. A cancel in Queued answers at once, in
// Executing it only sets the flag. What becomes of the answers is the reply's
// state. The memory is given back when the front end, the core and, if it keeps
// the request, the engine are done with it.
type State uint32

// The states.
const (
	Decoded State = iota
	Queued
	Executing
	Answered
)

// Sink receives the responses of one request, in order. Send takes ownership
// of resp, must not block, and is called from any goroutine, also from that of
// Cancel; after final it is not called again. A final Send with a nil resp ends a
// stream that has no further data. A Send that panics must not have taken resp, and
// is called once more, with an error that is final.
type Sink interface {
	Send(resp *Response, final bool)
}

// Queue is what holds a request in state Queued.
type Queue interface {
	// Withdraw answers a request that still waits with Cancelled and gives the
	// core's reference back; false when it does not wait any more: it may stand in
	// another queue by then, which has not let it in.
	Withdraw(r *Request) bool
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
	// Tap sees the responses; nil for most.
	Tap Tap
	// Member is what the scheduler of sequences knows of the request.
	Member Member
	// Place is what a queue notes on a request that waits in it.
	Place Place
	// Pool counts the outputs that are copied to where the client wants them;
	// the core sets it.
	Pool *tensor.Pool
	// Log is where contained panics are reported; the core sets it.
	Log *slog.Logger

	state     atomic.Uint32
	cancelled atomic.Bool
	overdone  atomic.Bool
	refs      atomic.Int32
	pooled    bool
	moving    sync.Mutex      // of a queue that is not the first
	queue     Queue           // set before the state becomes Queued
	ctx       context.Context // of a request that one caller waits for
	wait      waiter
	extra     []kserve.Tensor

	next, prev *Request // in a List

	reply reply // last, for what few requests use of it
}

// Place is where a request stands in a queue of several lists.
type Place struct {
	Level    uint64 // of priority; 1 is served first
	Since    int64  // when it came into this queue, by Now
	Deadline int64  // by Now, when the queue's policy acts; 0: none
	Delayed  bool   // the deadline has passed and the request waits on
	Turn     uint64 // the queue's count of requests when it came
	Index    int    // among those that have a deadline
}

// Times are monotonic time stamps in nanoseconds. The four compute stamps are
// those of the batch. An ensemble runs nothing itself: its ComputeStart is 0, and
// the other three are such that their differences are the sums over its steps.
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
	return &Request{pooled: true}
}}

// NewRequest is an empty request in state Decoded, received now.
func NewRequest() *Request {
	return requests.Get().(*Request).begin()
}

// NewUnpooled is NewRequest without the pool. Tests in a testing/synctest
// bubble need it: the channel inside a request must not leave its bubble.
func NewUnpooled() *Request {
	return (&Request{}).begin()
}

// Unpool keeps the request out of the pool when it is over, for the reason that
// NewUnpooled has.
func (r *Request) Unpool() { r.pooled = false }

func (r *Request) begin() *Request {
	r.refs.Store(2)
	r.Times = Times{Received: Now()}
	return r
}

// Retain takes one more reference, for Release. Whoever calls it has one.
func (r *Request) Retain() { r.refs.Add(1) }

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
	if r.reply.loan.taken {
		r.bury()
		return
	}
	r.clear()
	if r.pooled {
		requests.Put(r)
	}
}

// bury is the end of a request that was taken back from its engine. An engine that
// panicked may have goroutines which do not know: they find a request that is
// answered and cancelled, and never another one.
func (r *Request) bury() {
	r.reply.mu.Lock()
	defer r.reply.mu.Unlock()
	r.clear()
	r.cancelled.Store(true)
	r.state.Store(uint32(Answered))
}

// clear gives back what the request holds and makes it as new.
func (r *Request) clear() {
	if r.Trace != nil {
		r.emit(Event{Kind: EventEnded})
		r.Trace = nil
	}
	r.Reset()
	r.DropExtras()
	r.Batch, r.Sink, r.Tap, r.Pool, r.Log, r.queue, r.ctx = 0, nil, nil, nil, nil, nil, nil
	r.Member, r.Place = Member{}, Place{}
	r.state.Store(uint32(Decoded))
	r.cancelled.Store(false)
	r.overdone.Store(false)
	r.reply.reset()
	r.wait.reset()
}

// ReleaseInputs gives the input memory back early, before the reply is encoded.
func (r *Request) ReleaseInputs() {
	kserve.ReleaseTensors(r.Inputs)
	kserve.ReleaseTensors(r.extra)
}

// State is the current state.
func (r *Request) State() State { return State(r.state.Load()) }

// Move changes the state; false when the request is not in from any more.
func (r *Request) Move(from, to State) bool {
	return r.state.CompareAndSwap(uint32(from), uint32(to))
}

// Enter makes the request wait in q, whose lock is held. False when it was
// cancelled before and must not wait.
func (r *Request) Enter(q Queue) bool {
	switch r.queue {
	case q:
	case nil:
		r.queue = q // a canceler looks when the state is Queued
	default: // one that looked before may read it now
		r.moving.Lock()
		r.queue = q
		r.moving.Unlock()
	}
	r.Move(Decoded, Queued)
	return !r.cancelled.Load() // a Cancel that comes later finds Queued
}

// Cancel says that nobody waits for the answer any more. A request that waits
// in a queue leaves it at once and is answered with Cancelled on the caller's
// goroutine: the caller must hold no lock that its Sink takes. One that runs is
// only marked, for the engine to see. Whoever has a reference may call it.
func (r *Request) Cancel() {
	if !r.cancelled.Swap(true) && r.State() == Queued {
		r.moving.Lock()
		q := r.queue
		r.moving.Unlock()
		q.Withdraw(r)
	}
}

// Cancelled says that nobody waits any more; backends may poll it.
func (r *Request) Cancelled() bool {
	return r.cancelled.Load() || r.ctx != nil && r.ctx.Err() != nil
}

// Rows is the batch size as batchers count it: at least 1.
func (r *Request) Rows() int { return max(r.Batch, 1) }

// Tag is how messages about the request begin: "[request id: <id>] ".
func (r *Request) Tag() string {
	if r.ID == "" {
		return "[request id: <id_unknown>] "
	}
	return "[request id: " + r.ID + "] "
}
