package infer

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
	r.sendInternalError(r.Sink)
}

// Offer sends a response to sink in place of the request's own sink, and reports whether
// the responses have ended. If sink panics, Offer releases the response and sends one
// final internal error to sink; a backend that still runs sees the request cancelled.
func (r *Request) Offer(sink Sink, resp *Response, final bool) (ended bool) {
	if r.trySend(sink, resp, final) {
		return final
	}
	r.drop(resp)
	if !final {
		r.cancelled.Store(true)
	}
	r.sendInternalError(sink)
	return true
}

// sendInternalError sends the final response to a sink that has panicked. A second panic is
// only logged.
func (r *Request) sendInternalError(sink Sink) {
	if last := errorResponse(errInternal); !r.trySend(sink, last, true) {
		r.drop(last)
	}
}

// trySend reports whether the sink took a response.
func (r *Request) trySend(sink Sink, resp *Response, final bool) (taken bool) {
	if sink == Sink(&r.wait) && r.wait.n == 0 { // the usual case; Send releases nothing, so it cannot panic
		r.wait.Send(resp, final)
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			r.logPanic("the sink of a response", p)
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
			r.logPanic("releasing a response", p)
		}
	}()
	resp.Release()
}
