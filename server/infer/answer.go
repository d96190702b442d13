package infer

import "triton/pkg/status"

// answer is what a request has been told so far.
type answer struct {
	sent int       // responses that are not the end
	held bool      // the final response stays in kept
	kept *Response // nil also for an end without data
	full bool      // kept counts
	err  error     // of the final response
}

func (a *answer) reset() {
	if a.kept != nil {
		a.kept.Release()
	}
	*a = answer{}
}

// Respond sends one response through the sink. A final one moves the request
// to Answered; whatever comes after it is dropped and leaves the mark Overdone.
// A nil resp is the end without data when final, else an empty response, which
// is counted and not sent. An engine must not touch an open request after its
// final response.
func (r *Request) Respond(resp *Response, final bool) {
	if r.open.keeper != nil {
		r.respondOpen(resp, final)
		return
	}
	if !r.send(resp, final) {
		r.overdone.Store(true)
	}
}

// send passes a response on; false when the request has its final one already,
// and resp is dropped.
func (r *Request) send(resp *Response, final bool) bool {
	if r.answered(final) {
		if resp != nil {
			resp.Release()
		}
		return false
	}
	if final && resp == nil && r.answer.sent == 0 && r.open.keeper == nil {
		resp = NewResponse()
		resp.Err = status.New(status.Internal, "expected a single response, got 0")
	}
	if final && !r.answer.held { // else when it is delivered
		r.Times.Answered = Now()
	}
	if resp != nil {
		r.complete(resp, final)
	}
	switch {
	case final && r.answer.held:
		r.answer.kept, r.answer.full = resp, true
	case final || resp != nil:
		r.Sink.Send(resp, final)
	}
	return true
}

// complete fills in what the core knows of a response.
func (r *Request) complete(resp *Response, final bool) {
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, r.ModelVersion, r.ID
	if r.Trace != nil {
		r.Trace.Respond(r, resp)
	}
	if r.Tap != nil {
		r.Tap.Respond(r, resp, final)
	}
	r.place(resp, final)
	if final {
		r.answer.err = resp.Err
	} else {
		r.answer.sent++
	}
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

// Failure is the error of the final response; nil when there was none or none
// yet. Only the core may ask, once the backend's call is over.
func (r *Request) Failure() error {
	if r.open.keeper != nil {
		r.open.mu.Lock()
		defer r.open.mu.Unlock()
	}
	return r.answer.err
}

// Overdone says whether responses came after the final one.
func (r *Request) Overdone() bool { return r.overdone.Load() }

// Hold keeps the final response of a request back until Deliver or Take. The
// core calls it before a backend may answer.
func (r *Request) Hold() { r.answer.held = true }

// Deliver sends the final response that was held. The request may be gone when
// it returns, unless the caller of Deliver has a reference.
func (r *Request) Deliver() {
	a := &r.answer
	a.held = false
	if a.full {
		resp := a.kept
		a.kept, a.full = nil, false
		r.Times.Answered = Now()
		r.Sink.Send(resp, true)
	}
}
