package infer

// Hold keeps the final response back until Deliver or Take. The core calls it before the
// request can be answered.
func (r *Request) Hold() { r.reply.hold = holding }

// Deliver ends Hold: it sends the held final response, or, if there is none yet, lets the
// coming one be sent at once. Without a reference of its own the caller must not use the
// request afterwards.
func (r *Request) Deliver() {
	p := &r.reply
	if p.loan.kept != notKept {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	waits := p.hold == held
	p.hold = notHeld
	if waits {
		resp := p.final
		p.final = nil
		r.stampAnswered()
		r.sendToSink(resp, true)
	}
}

// ReplaceError replaces the error of a held final response that has failed.
func (r *Request) ReplaceError(err error) {
	if r.reply.final != nil {
		r.reply.final.Err, r.reply.err = err, err
	}
}

// takeHeld returns the held final response, which then bypasses the sink; nil when there
// is none, or when the sink has already counted an earlier response.
func (r *Request) takeHeld() *Response {
	p := &r.reply
	if p.loan.kept != notKept {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	resp := p.final
	if resp == nil || r.wait.n > 0 {
		return nil
	}
	p.hold, p.final = notHeld, nil
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
