package infer

import (
	"sync"

	"triton/pkg/status"
)

// reply is the state machine of a request's responses and of the request's users.
// docs/adr/0009-replies.md has the table. In short:
//
// \tanswering nothing sent -> any number of responses -> final response
// \t (State Answered: later responses are dropped)
// \tdelivering the final response goes to the sink at once or, if the core
// \t holds it back, on Deliver
// \tlending a kept request is finished when the call has returned, the final
// \t response was sent and the backend has let go
//
// Panics in a trace, a response observer or a sink are contained. A trace that panics is
// removed; the others end the request with an internal error, once.
//
// The lock serializes the responses. State Answered is the last field that a final
// response sets. Once the core sees it, it reads the rest without the lock, unless the
// backend keeps the request.
type reply struct {
	mu        sync.Mutex
	sent      int32     // responses before the final one
	holdFinal bool      // the final response waits for Deliver
	finalHeld bool      // final is set and waits
	faulted   bool      // a contained panic ended the request before its backend did
	late      bool      // the owner counts the request when it is answered
	final     *Response // nil also for an end without data
	err       error     // of the final response
	loan      loan
}

func (p *reply) reset() {
	if p.final != nil {
		p.final.Release()
	}
	p.sent, p.holdFinal, p.finalHeld, p.faulted, p.final, p.err, p.late = 0, false, false, false, nil, nil, false
	if p.loan.kept || p.loan.next.Index > 0 {
		p.loan = loan{}
	}
	p.loan.owner, p.loan.decoupled, p.loan.letGo = nil, false, false
}

// Respond sends one response through the sink. A final response moves the request to
// Answered; later ones are dropped and recorded for RespondedAfterFinal. A nil resp that
// is final ends the responses without data; one that is not final is an empty response,
// which is counted and not sent. Respond never panics and may be called from any
// goroutine.
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
	case p.loan.kept:
		return r.respondKept(resp, final)
	case !r.send(resp, final, nil) && !p.faulted:
		r.afterFinal.Store(true)
	}
	return nil
}

// send sends a response. It drops resp and returns false when the request is already
// answered. The owner is told of a delivery before the response is sent. The caller holds
// the lock.
func (r *Request) send(resp *Response, final bool, delivery *Delivery) bool {
	p := &r.reply
	if r.State() == Answered {
		r.drop(resp)
		return false
	}
	if final && resp == nil && p.sent == 0 && !p.loan.decoupled {
		resp = failed(errNoResponse)
	}
	if final && !p.holdFinal { // otherwise Deliver stamps it
		r.Times.Answered = Now()
	}
	asked := final
	switch {
	case resp != nil:
		resp, final = r.complete(resp, final)
	case final:
		r.releaseRegions()
	}
	if final && !asked {
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
	if p.holdFinal {
		p.final, p.finalHeld = resp, true
	} else {
		r.sendToSink(resp, true)
	}
	r.state.Store(uint32(Answered))
	return true
}

var errNoResponse = status.New(status.Internal, "expected a single response, got 0")

// errInternal is the error that clients get after a panic in the server.
var errInternal = status.New(status.Internal, "internal error while the response was written; the server's log has the details")

func failed(err error) *Response {
	resp := NewResponse()
	resp.Err = err
	return resp
}

// complete fills in the response. If that fails, the response becomes an error that ends
// the request.
func (r *Request) complete(resp *Response, final bool) (done *Response, end bool) {
	defer func() {
		if p := recover(); p != nil {
			r.fault("completing a response", p)
			r.drop(resp)
			done, end = failed(errInternal), true
			done.ModelName, done.ModelVersion, done.ID = r.ModelName, r.ModelVersion, r.ID
			r.releaseRegions()
		}
	}()
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, r.ModelVersion, r.ID
	if r.Trace != nil {
		r.emit(Event{Kind: EventResponded, Response: resp})
	}
	if r.Observer != nil {
		r.Observer.Observe(r, resp, final)
	}
	r.writeRegions(resp, final)
	return resp, final
}

// markFaulted ends the request after a contained panic. Its backend still runs and sees
// it cancelled.
func (r *Request) markFaulted() {
	r.reply.faulted = true
	r.cancelled.Store(true)
	r.Times.Answered = Now()
}

// sendToSink gives a response to the sink. If the sink panics, the response is replaced
// by an error that ends the request.
func (r *Request) sendToSink(resp *Response, final bool) {
	if r.trySend(r.Sink, resp, final) {
		return
	}
	r.drop(resp)
	p := &r.reply
	p.err = errInternal
	if !final {
		r.markFaulted()
		r.releaseRegions()
		if p.late {
			p.loan.owner.Completed(r, errInternal)
		}
	}
	r.state.Store(uint32(Answered))
	r.sendFault(r.Sink)
}

// Offer gives a response to a sink that replaces the request's own, and reports whether
// the responses have ended. If the sink panics, the response is released, the sink gets a
// final internal error, once, and a backend that still runs sees the request cancelled.
func (r *Request) Offer(sink Sink, resp *Response, final bool) (ended bool) {
	if r.trySend(sink, resp, final) {
		return final
	}
	r.drop(resp)
	if !final {
		r.cancelled.Store(true)
	}
	r.sendFault(sink)
	return true
}

// sendFault ends a sink that has panicked. A second panic is only logged.
func (r *Request) sendFault(sink Sink) {
	if last := failed(errInternal); !r.trySend(sink, last, true) {
		r.drop(last)
	}
}

// trySend reports whether the sink took a response.
func (r *Request) trySend(sink Sink, resp *Response, final bool) (taken bool) {
	if sink == Sink(&r.wait) && r.wait.n == 0 { // the usual case; it releases nothing, so it cannot panic
		r.wait.Send(resp, final)
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			r.fault("the sink of a response", p)
		}
	}()
	sink.Send(resp, final)
	return true
}

// releaseRegions releases the regions that were requested for outputs.
func (r *Request) releaseRegions() {
	for i := range r.Outputs {
		r.Outputs[i].Release()
	}
}

// drop releases a response that is not sent.
func (r *Request) drop(resp *Response) {
	if resp == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil { // a response observer or a sink has already released a part of it
			r.fault("releasing a response", p)
		}
	}()
	resp.Release()
}

// Fail answers the request with an error.
func (r *Request) Fail(err error) { r.Respond(failed(err), true) }

// Failure returns the error of the final response; nil when there is none. The core calls
// it after the backend's call.
func (r *Request) Failure() error {
	if r.reply.loan.kept {
		r.reply.mu.Lock()
		defer r.reply.mu.Unlock()
	}
	return r.reply.err
}

// RespondedAfterFinal reports whether responses came after the final one.
func (r *Request) RespondedAfterFinal() bool { return r.afterFinal.Load() }

// Hold keeps the final response back until Deliver or Take. The core calls it before the
// request can be answered.
func (r *Request) Hold() { r.reply.holdFinal = true }

// Deliver sends the held final response, or lets a later one pass at once. The request
// may be released when Deliver returns, unless the caller has a reference.
func (r *Request) Deliver() {
	p := &r.reply
	if p.loan.kept {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	p.holdFinal = false
	if p.finalHeld {
		resp := p.final
		p.final, p.finalHeld = nil, false
		r.stampAnswered()
		r.sendToSink(resp, true)
	}
}

// Amend replaces the error of a held final response that has failed.
func (r *Request) Amend(err error) {
	if r.reply.final != nil {
		r.reply.final.Err, r.reply.err = err, err
	}
}

// takeHeld returns the held response to the caller of the request; nil when there is none
// or when the sink must see it.
func (r *Request) takeHeld() *Response {
	p := &r.reply
	if p.loan.kept {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	resp := p.final
	if resp == nil || r.wait.n > 0 {
		return nil
	}
	p.holdFinal, p.final, p.finalHeld = false, nil, false
	r.stampAnswered()
	return resp
}

// stampAnswered stamps a held response with the end of its batch. The exact time is taken
// only for traces, where the difference shows, and for responses without a batch, such as
// cache hits.
func (r *Request) stampAnswered() {
	if r.Times.Answered = r.Times.ComputeEnd; r.Times.Answered == 0 || r.Trace != nil {
		r.Times.Answered = Now()
	}
}
