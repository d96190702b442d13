// Package infer is the vocabulary of inference in flight: a request with its state and
// time stamps, the batch that an instance runs, the response, and the service that the
// frontends call. It holds no policy: other packages schedule, execute and encode.
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

// State is the state of a request.
//
//	from      event                       to
//	Decoded   accepted by a scheduler     Queued
//	Queued    taken into a batch          Executing
//	Queued    rejected, timed out         Answered
//	          or cancelled
//	any       final response sent         Answered
//	Answered  rescheduled by its backend  Decoded
//
// Exactly one final response is sent. Cancel answers a Queued request at once; for an
// Executing one it only sets a flag. The state of the responses is in reply. The memory is
// released when the frontend, the core and, if it keeps the request, the backend have
// released their references.
type State uint32

// The states.
const (
	Decoded State = iota
	Queued
	Executing
	Answered
)

// Sink receives the responses of one request, in order. Send takes ownership of resp,
// must not block, and may be called from any goroutine, including that of Cancel. After
// the final response it is not called again. A final Send with a nil resp ends the
// responses without data. A Send that panics must not have taken ownership of resp; Send
// is then called once more, with a final error.
type Sink interface {
	Send(resp *Response, final bool)
}

// Queue holds requests in state Queued.
type Queue interface {
	// Withdraw removes a waiting request, answers it with Cancelled and releases the
	// core's reference. It returns false when the request no longer waits here; it may be
	// about to enter another queue.
	Withdraw(r *Request) bool
}

// Request is one request in flight. NewRequest returns it with two references, one for
// the frontend and one for the core: the runner chain, the queue and the instance group hold that
// one in turn, until the request was answered.
type Request struct {
	kserve.Request

	// Batch is the request's own batch size: the first dimension when the model
	// batches, else 0.
	Batch int
	// Sink receives the responses; the submitter sets it.
	Sink Sink
	// Times are the time stamps, by Now.
	Times Times
	// Trace records the request's events; usually nil. The maker of the request sets it.
	Trace Trace
	// Observer observes the responses; usually nil.
	Observer ResponseObserver
	// Membership is the request's part in a sequence.
	Membership Membership
	// Position is the request's position in the queue that it waits in.
	Position Position
	// Caller is on whose behalf it is made; nil: nobody asks. The frontend sets it.
	Caller *Caller
	// OwnInputs reports that the frontend received the inputs into memory of their own. A
	// backend may give such memory away, to be written to, if it holds the only reference.
	OwnInputs bool
	// Pool has the memory for the outputs, and counts those copied to client regions; the core sets it.
	Pool *tensor.Pool
	// Log is where contained panics are reported; the core sets it.
	Log *slog.Logger

	state      atomic.Uint32
	cancelled  atomic.Bool
	afterFinal atomic.Bool
	refs       atomic.Int32
	pooled     bool
	queueMu    sync.Mutex      // guards queue once it is set
	queue      Queue           // set before the state becomes Queued
	ctx        context.Context // set for a request with one waiting caller
	wait       waiter
	extra      []kserve.Tensor

	next, prev *Request // in a List

	reply reply // last, because few requests use all of it
}

// Position is the position of a request in a queue of several lists.
type Position struct {
	Level     uint64 // priority level; 1 is served first
	Since     int64  // when it entered this queue, by Now
	Deadline  int64  // by Now, when the timeout action of the queue policy applies; 0: none
	Delayed   bool   // the deadline has passed and the request still waits
	Arrival   uint64 // number of requests that entered before it
	Turn      uint64 // order of service in its level, once that is decided
	Undecided bool   // it waits in the queue of its caller: its turn is not decided
	HeapIndex int    // in the heap of deadlines
}

var requests = sync.Pool{New: func() any {
	return &Request{pooled: true}
}}

// NewRequest returns an empty request in state Decoded, received now.
func NewRequest() *Request {
	return requests.Get().(*Request).init()
}

// NewUnpooled is NewRequest without the pool. Tests in a testing/synctest bubble need it:
// the channel inside a request must not leave its bubble.
func NewUnpooled() *Request {
	return (&Request{}).init()
}

func (r *Request) init() *Request {
	r.refs.Store(2)
	r.Times = Times{Received: Now()}
	return r
}

// TakeFromQueue makes Withdraw ignore a queued request: the caller answers it or puts it into a batch. It returns
// false if another goroutine has taken it.
func (r *Request) TakeFromQueue() bool { return r.Move(Queued, Executing) }

// Discard gives up a new request that no model got: it releases both references.
func (r *Request) Discard() {
	r.Release()
	r.Release()
}

// Retain takes one more reference. The caller must hold one.
func (r *Request) Retain() { r.refs.Add(1) }

// Release releases one reference; the last one releases the inputs and returns the
// request to its pool.
func (r *Request) Release() {
	n := r.refs.Add(-1)
	if n > 0 {
		return
	}
	if n < 0 {
		panic("infer: request released more often than held")
	}
	invariant.Check(r.next == nil && r.prev == nil, "request released while it is in a list")
	if r.reply.loan.reclaimed {
		r.neutralize()
		return
	}
	r.clear()
	if r.pooled {
		requests.Put(r)
	}
}

// neutralize ends a request that was reclaimed from its backend. Goroutines of a backend
// that panicked may still use the request: they find it answered and cancelled. The
// request is never reused.
func (r *Request) neutralize() {
	r.reply.mu.Lock()
	defer r.reply.mu.Unlock()
	r.clear()
	r.cancelled.Store(true)
	r.state.Store(uint32(Answered))
}

// clear releases what the request holds and resets it.
func (r *Request) clear() {
	if r.Trace != nil {
		r.emit(Event{Kind: EventEnded})
		r.Trace = nil
	}
	r.Reset()
	r.DropExtras()
	r.Batch, r.Sink, r.Observer, r.Pool, r.Log, r.queue, r.ctx = 0, nil, nil, nil, nil, nil, nil
	r.Caller = nil
	r.Membership, r.Position, r.OwnInputs = Membership{}, Position{}, false
	r.state.Store(uint32(Decoded))
	r.cancelled.Store(false)
	r.afterFinal.Store(false)
	r.reply.reset()
	r.wait.reset()
}

// ReleaseInputs releases the input memory early, before the response is encoded.
func (r *Request) ReleaseInputs() {
	kserve.ReleaseTensors(r.Inputs)
	kserve.ReleaseTensors(r.extra)
}

// State returns the current state.
func (r *Request) State() State { return State(r.state.Load()) }

// Move changes the state from from to to. It returns false when the request is in another
// state.
func (r *Request) Move(from, to State) bool {
	return r.state.CompareAndSwap(uint32(from), uint32(to))
}

// Enter moves the request to state Queued in q, whose lock the caller holds. It returns
// false when the request is already cancelled: then the caller answers it.
func (r *Request) Enter(q Queue) bool {
	switch r.queue {
	case q:
	case nil:
		r.queue = q // Cancel reads it only in state Queued
	default: // a concurrent Cancel may read it
		r.queueMu.Lock()
		r.queue = q
		r.queueMu.Unlock()
	}
	r.Move(Decoded, Queued)
	return !r.cancelled.Load() // a later Cancel finds state Queued
}

// Cancel records that no caller waits for the response. A queued request leaves its queue
// at once and is answered with Cancelled on the caller's goroutine. A running request is
// only marked; the backend may poll the mark. The caller must hold a reference, and no lock
// that the request's Sink takes.
func (r *Request) Cancel() {
	if !r.cancelled.Swap(true) && r.State() == Queued {
		r.queueMu.Lock()
		q := r.queue
		r.queueMu.Unlock()
		q.Withdraw(r)
	}
}

// Cancelled reports whether the request was cancelled; backends may poll it.
func (r *Request) Cancelled() bool {
	return r.cancelled.Load() || r.ctx != nil && r.ctx.Err() != nil
}

// Rows returns the batch size as batchers count it: at least 1.
func (r *Request) Rows() int { return max(r.Batch, 1) }

// Tag returns the prefix of messages about the request: "[request id: <id>] ".
func (r *Request) Tag() string { return Tag(r.ID) }

// Tag returns the prefix of messages about the request with an ID.
func Tag(id string) string {
	if id == "" {
		return "[request id: <id_unknown>] "
	}
	return "[request id: " + id + "] "
}
