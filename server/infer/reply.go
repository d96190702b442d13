package infer

import (
	"sync"

	"triton/pkg/status"
)

// reply is the state machine of a request's responses, and of the backend that may keep
// the request after its call.
// docs/adr/0009-replies.md has the reasons.
//
//	by       method    lock     effect
//	core     Lend      no       before the call: the backend has the request, the core holds its final response back
//	core     Hold      no       the same for a request without a backend, before it can be answered
//	backend  Respond   yes      a response goes to the sink, a final one that is held does not; then state Answered
//	backend  Keep      yes      during the call: the request outlasts it; that of a decoupled model always does
//	core     Revoke    yes      after a call that failed: answers the request and takes it back
//	core     Returned  yes      after the call of a kept request
//	core     Deliver   if kept  the held response goes to the sink, and one that comes later goes there at once
//	core     Take      if kept  the held response goes to the caller that ran the batch, past the sink
//	backend  LetGo     yes      ends its use of a kept request, except for the final response
//	core     Abort     yes      in a drain, or when an instance breaks: answers in place of the backend
//	core     Reclaim   yes      after the instance is closed: takes back what the backend still keeps
//	core     Suspend   yes      ends the loan of a rescheduled request
//
// Responses that come in state Answered are dropped. A kept request is finished when nothing is pending: its
// call has returned, its final response was sent and its backend has let go.
//
// Panics in a trace, a response observer or a sink are contained. A trace that panics is removed. A response
// observer or a sink that panics ends the request with one internal error.
//
// A final response sets the state to Answered last, so the core, once it has seen Answered, reads the other
// fields without the lock. That does not hold while the backend keeps the request.
type reply struct {
	mu      sync.Mutex
	sent    int32     // responses before the final one
	hold    hold      // of the final response
	faulted bool      // a contained panic ended the request before its backend did
	late    bool      // unanswered after the backend's call: Completed counts the request
	final   *Response // the held response; nil also when it has no data
	err     error     // of the final response
	loan    loan
}

// hold is whether the final response waits for Deliver or Take.
type hold uint8

const (
	notHeld hold = iota
	holding      // it will be held when it comes
	held         // it waits
)

func (p *reply) reset() {
	if p.final != nil {
		p.final.Release()
	}
	p.sent, p.hold, p.faulted, p.final, p.err, p.late = 0, notHeld, false, nil, nil, false
	// The rest of the loan is used by kept requests only, and by rescheduled ones, whose count goes on.
	if p.loan.kept != notKept || p.loan.next.Index > 0 {
		p.loan = loan{}
	}
	p.loan.owner, p.loan.decoupled = nil, false
}

// Respond sends one response through the sink. A final response moves the request to
// Answered; later ones are dropped and recorded for RespondedAfterFinal. With a nil resp
// and final set, the responses end without data; without final, the empty response is
// counted and not sent. Respond never panics and may be called from any goroutine.
func (r *Request) Respond(resp *Response, final bool) {
	if owner := r.respond(resp, final); owner != nil {
		owner.Finished(r)
	}
}

// respond returns the owner when this response finished the request.
func (r *Request) respond(resp *Response, final bool) Owner {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.loan.kept != notKept:
		return r.respondKept(resp, final)
	case !r.send(resp, final, nil) && !p.faulted:
		r.afterFinal.Store(true)
	}
	return nil
}

// send sends a response. It drops resp and returns false when the request is already
// answered. A delivery, if not nil, is reported to the owner before the response is sent.
// The caller holds the lock.
func (r *Request) send(resp *Response, final bool, delivery *Delivery) bool {
	p := &r.reply
	if r.State() == Answered {
		r.drop(resp)
		return false
	}
	if final && resp == nil && p.sent == 0 && !p.loan.decoupled {
		resp = errorResponse(ErrNoResponse)
	}
	if final && p.hold == notHeld { // otherwise Deliver stamps it
		r.Times.Answered = Now()
	}
	requested := final
	switch {
	case resp != nil:
		resp, final = r.complete(resp, final)
	case final:
		r.releaseRegions()
	}
	if final && !requested { // complete has failed
		r.markFaulted()
	}
	if delivery != nil {
		delivery.Final = final
		r.reportDelivery(delivery, resp)
	}
	if !final {
		if resp != nil {
			p.sent++
			r.sendToSink(resp, false)
		}
		return true
	}
	if resp != nil {
		p.err = resp.Err
	}
	if p.late {
		p.loan.owner.Completed(r, p.err)
	}
	if p.hold != notHeld {
		p.final, p.hold = resp, held
	} else {
		r.sendToSink(resp, true)
	}
	r.state.Store(uint32(Answered))
	return true
}

// ErrNoResponse answers a request whose model ended the responses without one.
var ErrNoResponse = status.New(status.Internal, "expected a single response, got 0")

// errInternal is the error that clients get after a panic in the server.
var errInternal = status.New(status.Internal, "internal error while the response was written; the server's log has the details")

func errorResponse(err error) *Response {
	resp := NewResponse()
	resp.Err = err
	return resp
}

// complete fills in the response. If that fails, the response becomes an error that ends
// the request.
func (r *Request) complete(resp *Response, final bool) (done *Response, end bool) {
	defer func() {
		if p := recover(); p != nil {
			r.logPanic("completing a response", p)
			r.drop(resp)
			done, end = errorResponse(errInternal), true
			done.ModelName, done.ModelVersion, done.ID = r.ModelName, r.ModelVersion, r.ID
			r.releaseRegions()
		}
	}()
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, r.ModelVersion, r.ID
	if err := r.lostRegion(); err != nil {
		resp.Err = err
	}
	if r.Trace != nil {
		r.emit(Event{Kind: EventResponded, Response: resp})
	}
	if r.Observer != nil {
		r.Observer.Observe(r, resp, final)
	}
	r.writeRegions(resp, final)
	return resp, final
}

// Fail answers the request with an error.
func (r *Request) Fail(err error) { r.Respond(errorResponse(err), true) }

// Failure returns the error of the final response; nil when there is none. The core calls
// it after the backend's call.
func (r *Request) Failure() error {
	if r.reply.loan.kept != notKept {
		r.reply.mu.Lock()
		defer r.reply.mu.Unlock()
	}
	return r.reply.err
}

// RespondedAfterFinal reports whether responses came after the final one.
func (r *Request) RespondedAfterFinal() bool { return r.afterFinal.Load() }
