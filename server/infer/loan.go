package infer

// Owner is the core's side of requests that an engine may keep past its call.
type Owner interface {
	// Kept comes when the engine keeps a request, while its call runs.
	Kept(r *Request)
	// Responded comes with each response of a decoupled model and with its end, before
	// anybody has it. The calls for one request never overlap.
	Responded(r *Request, did Delivery)
	// Completed comes when a request that Settle left open is answered, before the
	// answer is sent.
	Completed(r *Request, err error)
	// Finished comes once for each request that was kept, when it is answered, its
	// engine's call is over and its engine has let go, unless Returned or Reclaim
	// reported that. The owner gives the engine's reference back.
	Finished(r *Request)
}

// Delivery is what an Owner hears of a response. The times are by Now.
type Delivery struct {
	Index int // from 0
	// Begin is when the engine could begin with this response: when its batch
	// began, or the response before was complete. Output is when it had it ready,
	// End when it was complete.
	Begin, Output, End int64
	Empty              bool // no data
	Final              bool
	Written            bool // the engine said when Output was
	Err                error
}

// loan is how a request stands with the engine that runs it.
type loan struct {
	owner    Owner    // nil: no engine runs it
	many     bool     // any number of responses
	kept     bool     // the engine keeps it past its call
	explicit bool     // the engine lets go with LetGo, else with its final response
	ended    bool     // the engine has sent its final response
	gone     bool     // the engine has let go
	returned bool     // the engine's call is over
	closed   bool     // over has reported it
	taken    bool     // the core has taken it back; the engine may not know yet
	next     Delivery // last: only kept requests use it
}

// over reports, once, that nothing is expected of the engine any more.
func (l *loan) over() bool {
	if !l.ended || !l.gone || !l.returned || l.closed {
		return false
	}
	l.closed = true
	return true
}

// Lend gives the request to an engine, before its call. The final response is
// held until Deliver. With many the engine keeps the request and may answer any
// number of times, each of which is sent at once.
func (r *Request) Lend(o Owner, many bool) {
	p := &r.reply // nobody else has it yet
	p.loan.owner, p.loan.many, p.hold = o, many, !many
	if many {
		r.keep()
		o.Kept(r)
	}
}

// Keep lets an engine keep a request of any model past its call, which must still
// run. The engine owes the request one final response and one LetGo, in any
// order, from any goroutine; it has a reference until both are done. An error of
// the call, or a panic, takes the request back.
func (r *Request) Keep() {
	p := &r.reply
	p.mu.Lock()
	anew := !p.loan.kept
	if anew {
		r.keep()
	}
	p.loan.explicit, p.loan.gone = true, false
	owner := p.loan.owner
	p.mu.Unlock()
	if anew {
		owner.Kept(r)
	}
}

// keep takes the engine's reference.
func (r *Request) keep() {
	r.refs.Add(1)
	l := &r.reply.loan
	l.kept = true
	l.ended = r.State() == Answered
	l.next.Begin = Now()
}

// LetGo ends the engine's use of a request that it kept, and of its inputs. Only
// the final response may follow, if it was not sent yet.
func (r *Request) LetGo() {
	p := &r.reply
	p.mu.Lock()
	owner := p.loan.owner
	p.loan.gone = true
	over := p.loan.over()
	p.mu.Unlock()
	if over {
		owner.Finished(r)
	}
}

// respondKept sends one response of an engine that keeps the request. The caller
// holds the lock.
func (r *Request) respondKept(resp *Response, final bool) Owner {
	l := &r.reply.loan
	if l.ended {
		r.overdone.Store(true)
		r.drop(resp)
		return nil
	}
	l.ended = final
	if final && !l.explicit {
		l.gone = true
	}
	if !l.many {
		r.send(resp, final, nil)
	} else {
		r.sendOne(resp, final)
	}
	if final && l.over() {
		return l.owner
	}
	return nil
}

// sendOne sends one of many responses and tells the owner.
func (r *Request) sendOne(resp *Response, final bool) {
	did := r.reply.loan.next
	did.Output, did.Empty, did.Final = Now(), resp == nil, final
	if resp != nil {
		if at := resp.OutputStart; at != 0 {
			did.Output, did.Written = at, true
		}
	}
	r.send(resp, final, &did)
}

// delivered tells the owner of a response that is complete.
func (r *Request) delivered(did *Delivery, resp *Response) {
	l := &r.reply.loan
	if resp != nil {
		did.Err = resp.Err
	}
	did.End = Now()
	l.next.Index++
	l.next.Begin = did.End
	l.owner.Responded(r, *did)
}

// IsKept reports, after the engine's call, whether the engine keeps the request
// past it.
func (r *Request) IsKept() bool { return r.reply.loan.kept }

// ToBeLetGo reports, after the engine's call, whether the engine has called Keep.
func (r *Request) ToBeLetGo() bool { return r.reply.loan.explicit }

// Settle notes, after the engine's call, whether a kept request of a model with
// one response was answered. If not it is late: the owner hears of the answer
// before it is sent.
func (r *Request) Settle() {
	r.reply.mu.Lock()
	defer r.reply.mu.Unlock()
	r.reply.late = r.State() != Answered
}

// Late reports whether Settle found no answer.
func (r *Request) Late() bool { return r.reply.late }

// Revoke takes a request back from an engine whose call failed, and answers it
// with the error unless it was answered before. It is finished when Returned is
// called.
func (r *Request) Revoke(err error) {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.loan
	switch {
	case l.ended:
	case l.many:
		r.sendOne(failed(err), true)
	default:
		r.send(failed(err), true, nil)
	}
	l.taken = !l.ended || l.explicit
	l.ended, l.gone = true, true
}

// Returned notes that the call of the engine is over, and reports whether the
// engine is done with the request too. The request may be gone when it is not.
func (r *Request) Returned() bool {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loan.returned = true
	return p.loan.over()
}

// Reclaim takes a kept request back from an engine that is closed and will not
// let go, and reports whether the request is finished with that. It must have been
// answered.
func (r *Request) Reclaim() bool {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loan.ended, p.loan.gone, p.loan.taken = true, true, true
	return p.loan.over()
}

// Suspend ends the loan of a request that its engine wants again, and gives the
// engine's reference back. The count of its responses goes on with the next loan.
func (r *Request) Suspend() {
	p := &r.reply
	p.mu.Lock()
	p.loan = loan{owner: p.loan.owner, many: p.loan.many, next: p.loan.next}
	p.mu.Unlock()
	r.Release()
}

// Ended reports whether the engine of a kept request has sent its final response.
func (r *Request) Ended() bool {
	r.reply.mu.Lock()
	defer r.reply.mu.Unlock()
	return r.reply.loan.ended
}

// Abort answers a kept request for an engine that does not: whatever the engine
// still sends is dropped. It keeps its reference until it is done. False when the
// engine does not keep the request any more.
func (r *Request) Abort(err error) bool {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.loan.kept:
		return false
	case p.loan.many && r.State() != Answered:
		r.sendOne(failed(err), true)
		return true
	}
	r.send(failed(err), true, nil)
	return true
}
