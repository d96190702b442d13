package infer

import (
	"sync"

	"triton/pkg/status"
)

// reply is the one state machine of a request's answers and of who still uses
// the request. docs/adr/0009-replies.md has the table. In short:
//
//	answering   nothing sent -> any number of responses -> final response
//	            (State Answered: whatever comes later is dropped)
//	delivering  the final response goes to the sink at once, or waits for Deliver
//	            where the core holds it back
//	lending     a request that its engine keeps past the call is finished when the
//	            call is over, the final response was given and the engine let go
//
// A panic in a trace, a tap or a sink never leaves the machine. One in a trace costs
// the trace; the others end the request with an internal error, once.
//
// The lock serializes the responses. State Answered is the last thing that a final
// response sets, so that the core, once it has seen it, reads the rest without the
// lock, unless the engine keeps the request.
type reply struct {
	mu   sync.Mutex
	sent int32     // responses before the final one
	hold bool      // the final response waits for Deliver
	full bool      // it is there, in kept
	fell bool      // a fault ended the request before its engine did
	late bool      // the owner counts the request when it is answered
	kept *Response // nil also for an end without data
	err  error     // of the final response
	loan loan
}

func (p *reply) reset() {
	if p.kept != nil {
		p.kept.Release()
	}
	p.sent, p.hold, p.full, p.fell, p.kept, p.err, p.late = 0, false, false, false, nil, nil, false
	if p.loan.kept || p.loan.next.Index > 0 {
		p.loan = loan{}
	}
	p.loan.owner, p.loan.many, p.loan.gone = nil, false, false
}

// Respond sends one response through the sink. A final one moves the request
// to Answered; whatever comes after it is dropped and leaves the mark Overdone.
// A nil resp is the end without data when final, else an empty response, which
// is counted and not sent. It never panics and may be called from any goroutine.
func (r *Request) Respond(resp *Response, final bool) {
	if owner := r.respond(resp, final); owner != nil {
		owner.Finished(r)
	}
}

// respond returns the owner when the engine is done with the request now.
func (r *Request) respond(resp *Response, final bool) Owner {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.loan.kept:
		return r.respondKept(resp, final)
	case !r.send(resp, final, nil) && !p.fell:
		r.overdone.Store(true)
	}
	return nil
}

// send passes a response on; false when the request has its final one already,
// and resp is dropped. The owner hears of did before anybody has the response. The
// caller holds the lock.
func (r *Request) send(resp *Response, final bool, did *Delivery) bool {
	p := &r.reply
	if r.State() == Answered {
		r.drop(resp)
		return false
	}
	if final && resp == nil && p.sent == 0 && !p.loan.many {
		resp = failed(errNoResponse)
	}
	if final && !p.hold { // else when it is delivered
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
		r.fall()
	}
	if did != nil {
		did.Final = final
		r.delivered(did, resp)
	}
	if !final {
		if resp != nil {
			p.sent++
			r.pass(resp, false)
		}
		return true
	}
	if resp != nil {
		p.err = resp.Err
	}
	if p.late {
		p.loan.owner.Completed(r, p.err)
	}
	if p.hold {
		p.kept, p.full = resp, true
	} else {
		r.pass(resp, true)
	}
	r.state.Store(uint32(Answered))
	return true
}

var errNoResponse = status.New(status.Internal, "expected a single response, got 0")

// errFault is what clients get when the server itself panicked.
var errFault = status.New(status.Internal, "internal error while the response was written; the server's log has the details")

func failed(err error) *Response {
	resp := NewResponse()
	resp.Err = err
	return resp
}

// complete fills in what the core knows of a response. A response that cannot be
// completed becomes an error, which ends the request.
func (r *Request) complete(resp *Response, final bool) (done *Response, end bool) {
	defer func() {
		if p := recover(); p != nil {
			r.fault("a response", p)
			r.drop(resp)
			done, end = failed(errFault), true
			done.ModelName, done.ModelVersion, done.ID = r.ModelName, r.ModelVersion, r.ID
			r.releaseRegions()
		}
	}()
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, r.ModelVersion, r.ID
	if r.Trace != nil {
		r.emit(Event{Kind: EventResponded, Response: resp})
	}
	if r.Tap != nil {
		r.Tap.Respond(r, resp, final)
	}
	r.place(resp, final)
	return resp, final
}

// fall notes that a fault ends the request while its engine goes on, which finds it
// cancelled.
func (r *Request) fall() {
	r.reply.fell = true
	r.cancelled.Store(true)
	r.Times.Answered = Now()
}

// pass gives a response to the sink. One that the sink panics on is replaced by
// an error that ends the request.
func (r *Request) pass(resp *Response, final bool) {
	if r.offer(r.Sink, resp, final) {
		return
	}
	r.drop(resp)
	p := &r.reply
	p.err = errFault
	if !final {
		r.fall()
		r.releaseRegions()
		if p.late {
			p.loan.owner.Completed(r, errFault)
		}
	}
	r.state.Store(uint32(Answered))
	r.offerFault(r.Sink)
}

// Offer gives a response to a sink that stands in for the request's own, and reports
// whether that was the end. A sink that panics has not taken the response, which
// is released; it gets an internal error once, as the end.
func (r *Request) Offer(sink Sink, resp *Response, final bool) (ended bool) {
	if r.offer(sink, resp, final) {
		return final
	}
	r.drop(resp)
	r.offerFault(sink)
	return true
}

// offerFault ends a sink that has panicked. When that fails too, the sink has had
// its chance.
func (r *Request) offerFault(sink Sink) {
	if last := failed(errFault); !r.offer(sink, last, true) {
		r.drop(last)
	}
}

// offer reports whether the sink took a response.
func (r *Request) offer(sink Sink, resp *Response, final bool) (taken bool) {
	if sink == Sink(&r.wait) && r.wait.n == 0 { // most are; it releases nothing, so it cannot panic
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

// releaseRegions lets go of the client's memory that outputs were wanted in.
func (r *Request) releaseRegions() {
	for i := range r.Outputs {
		r.Outputs[i].Release()
	}
}

// drop releases a response that nobody gets.
func (r *Request) drop(resp *Response) {
	if resp == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil { // a tap or a sink has released a part of it
			r.fault("releasing a response", p)
		}
	}()
	resp.Release()
}

// Fail answers the request with an error, finally.
func (r *Request) Fail(err error) { r.Respond(failed(err), true) }

// Failure is the error of the final response; nil when there was none or none
// yet. The core asks when the engine's call is over.
func (r *Request) Failure() error {
	if r.reply.loan.kept {
		r.reply.mu.Lock()
		defer r.reply.mu.Unlock()
	}
	return r.reply.err
}

// Overdone reports whether responses came after the final one.
func (r *Request) Overdone() bool { return r.overdone.Load() }

// Hold keeps the final response back until Deliver or Take. The core calls it
// before anybody may answer.
func (r *Request) Hold() { r.reply.hold = true }

// Deliver sends the final response if it was held, and ends the hold for one that
// comes later. The request may be gone when it returns, unless the caller of
// Deliver has a reference.
func (r *Request) Deliver() {
	p := &r.reply
	if p.loan.kept {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	p.hold = false
	if p.full {
		resp := p.kept
		p.kept, p.full = nil, false
		r.answeredNow()
		r.pass(resp, true)
	}
}

// Amend replaces the error of a final response that is held and has failed.
func (r *Request) Amend(err error) {
	if r.reply.kept != nil {
		r.reply.kept.Err, r.reply.err = err, err
	}
}

// collect is the response that was held, for the caller that the request is for;
// nil when there is none, or only one that the sink has to see.
func (r *Request) collect() *Response {
	p := &r.reply
	if p.loan.kept {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	resp := p.kept
	if resp == nil || r.wait.n > 0 {
		return nil
	}
	p.hold, p.kept, p.full = false, nil, false
	r.answeredNow()
	return resp
}

// answeredNow notes when a response that was held is passed on, which is when its
// batch has ended. Only a trace shows the difference, and a cache has no batch.
func (r *Request) answeredNow() {
	if r.Times.Answered = r.Times.ComputeEnd; r.Times.Answered == 0 || r.Trace != nil {
		r.Times.Answered = Now()
	}
}
