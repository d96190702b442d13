package infer

// Owner is the core's code that lends requests to a backend and is notified of what the
// backend does with them.
type Owner interface {
	// Kept is called when the backend keeps a request, while its call runs.
	Kept(r *Request)
	// Responded is called for each response of a decoupled model and for its end, before
	// the response is sent. The calls for one request never overlap.
	Responded(r *Request, delivery Delivery)
	// Completed is called when a request that MarkIfLate found unanswered is answered,
	// before the answer is sent.
	Completed(r *Request, err error)
	// Finished is called once for each kept request, when it is answered, the backend's
	// call has returned and the backend has let go. It releases the backend's reference.
	// The request calls it, except when Returned or Reclaim reports true: then their
	// caller does.
	Finished(r *Request)
}

// Delivery describes one response to an Owner. The times are by Now.
type Delivery struct {
	Index int // from 0
	// Begin is the start of the work on this response: the start of the batch, or the
	// completion of the previous response. Output is when the outputs were ready, End
	// when the response was complete.
	Begin, Output, End int64
	Empty              bool // no data
	Final              bool
	Written            bool // the backend set Output
	Err                error
}

// loan is the state of a request from the time a backend gets it until the backend is done; see reply.
type loan struct {
	owner     Owner // nil: no backend runs the request
	decoupled bool  // any number of responses
	kept      keptUntil
	pending   pending
	reclaimed bool     // the core has taken the request back; the backend may still use it
	next      Delivery // the next response; last because only kept requests use it
}

// keptUntil is until when a backend keeps a request after its call.
type keptUntil uint8

const (
	notKept    keptUntil = iota
	untilFinal           // until it sends the final response, or calls LetGo before that
	untilLetGo           // until it has sent the final response and called LetGo
)

// pending is what has still to happen to a kept request before it is finished. It happens in any order, so
// these are a set and no sequence of states.
type pending uint8

const (
	finalResponse pending = 1 << iota // of the backend
	lettingGo
	endOfCall
)

// ended reports whether the backend of a kept request has sent its final response.
func (l *loan) ended() bool { return l.pending&finalResponse == 0 }

// happened records what is no longer pending. It reports true once: when that finishes the request.
func (l *loan) happened(what pending) (finished bool) {
	before := l.pending
	l.pending &^= what
	return before != 0 && l.pending == 0
}

// Lend hands the request to a backend before its call. The final response is held until
// Deliver. For a decoupled model the backend keeps the request and its responses are sent
// at once.
func (r *Request) Lend(o Owner, decoupled bool) {
	p := &r.reply // not shared yet
	p.loan.owner, p.loan.decoupled, p.hold = o, decoupled, holding
	if decoupled {
		p.hold = notHeld
		r.retainForBackend()
		o.Kept(r)
	}
}

// Keep lets a backend keep a request of any model after its call. The backend calls it
// during the call, and must later send one final response and call LetGo once, in any
// order, from any goroutine; it holds a reference until both are done. If the call returns
// an error or panics, the core takes the request back.
func (r *Request) Keep() {
	p := &r.reply
	p.mu.Lock()
	first := p.loan.kept == notKept
	if first {
		r.retainForBackend()
	}
	if p.loan.kept = untilLetGo; p.loan.pending != 0 {
		p.loan.pending |= lettingGo
	}
	owner := p.loan.owner
	p.mu.Unlock()
	if first {
		owner.Kept(r)
	}
}

// retainForBackend takes the backend's reference, until the final response.
func (r *Request) retainForBackend() {
	r.refs.Add(1)
	l := &r.reply.loan
	l.kept, l.pending = untilFinal, finalResponse|lettingGo|endOfCall
	if r.State() == Answered {
		l.pending &^= finalResponse
	}
	l.next.Begin = Now()
}

// LetGo ends the backend's use of a kept request and of its inputs. Afterwards the backend
// may only send the final response, if it has not yet.
func (r *Request) LetGo() {
	p := &r.reply
	p.mu.Lock()
	owner := p.loan.owner
	finished := p.loan.happened(lettingGo)
	p.mu.Unlock()
	if finished {
		owner.Finished(r)
	}
}

// respondKept sends one response of a kept request. The caller holds the lock.
func (r *Request) respondKept(resp *Response, final bool) Owner {
	l := &r.reply.loan
	if l.ended() {
		r.afterFinal.Store(true)
		r.drop(resp)
		return nil
	}
	finished := false
	switch {
	case final && l.kept == untilFinal:
		finished = l.happened(finalResponse | lettingGo)
	case final:
		finished = l.happened(finalResponse)
	}
	if !l.decoupled {
		r.send(resp, final, nil)
	} else {
		r.sendDecoupled(resp, final)
	}
	if finished {
		return l.owner
	}
	return nil
}

// sendDecoupled sends one response of a decoupled model and reports it to the owner.
func (r *Request) sendDecoupled(resp *Response, final bool) {
	delivery := r.reply.loan.next
	delivery.Output, delivery.Empty, delivery.Final = Now(), resp == nil, final
	if resp != nil {
		if at := resp.OutputStart; at != 0 {
			delivery.Output, delivery.Written = at, true
		}
	}
	r.send(resp, final, &delivery)
}

// reportDelivery reports a complete response to the owner.
func (r *Request) reportDelivery(delivery *Delivery, resp *Response) {
	l := &r.reply.loan
	if resp != nil {
		delivery.Err = resp.Err
	}
	delivery.End = Now()
	l.next.Index++
	l.next.Begin = delivery.End
	l.owner.Responded(r, *delivery)
}

// IsKept reports whether the backend keeps the request. It is valid after the backend's
// call.
func (r *Request) IsKept() bool { return r.reply.loan.kept != notKept }

// KeptExplicitly reports whether the backend called Keep. It is valid after the backend's
// call.
func (r *Request) KeptExplicitly() bool { return r.reply.loan.kept == untilLetGo }

// MarkIfLate marks a kept request of a model that is not decoupled as late if it is
// unanswered after the backend's call. Then Completed notifies the owner of the answer.
func (r *Request) MarkIfLate() {
	r.reply.mu.Lock()
	defer r.reply.mu.Unlock()
	r.reply.late = r.State() != Answered
}

// Late reports whether MarkIfLate found the request unanswered.
func (r *Request) Late() bool { return r.reply.late }

// Revoke takes a kept request back from a backend whose call failed, and answers it with the
// error if it is unanswered. The request is finished when Returned is called.
func (r *Request) Revoke(err error) {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.loan
	switch {
	case l.ended():
	case l.decoupled:
		r.sendDecoupled(errorResponse(err), true)
	default:
		r.send(errorResponse(err), true, nil)
	}
	l.reclaimed = !l.ended() || l.kept == untilLetGo
	l.happened(finalResponse | lettingGo)
}

// Returned records that the backend's call has returned, and reports whether that finished
// the request. If it reports false, the request may already be released.
func (r *Request) Returned() bool {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loan.happened(endOfCall)
}

// Reclaim takes a kept, answered request back from a closed backend that has not called
// LetGo, and reports whether that finished the request.
func (r *Request) Reclaim() bool {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loan.reclaimed = true
	return p.loan.happened(finalResponse | lettingGo)
}

// Suspend ends the loan of a rescheduled request and releases the backend's reference.
// The response count continues with the next loan.
func (r *Request) Suspend() {
	p := &r.reply
	p.mu.Lock()
	p.loan = loan{owner: p.loan.owner, decoupled: p.loan.decoupled, next: p.loan.next}
	p.mu.Unlock()
	r.Release()
}

// Ended reports whether the backend of a kept request has sent its final response.
func (r *Request) Ended() bool {
	r.reply.mu.Lock()
	defer r.reply.mu.Unlock()
	return r.reply.loan.ended()
}

// Abort answers a kept request in place of its backend; later responses are dropped. The
// backend keeps its reference until it is done. Abort reports false when the backend no
// longer keeps the request.
func (r *Request) Abort(err error) bool {
	p := &r.reply
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.loan.kept == notKept:
		return false
	case p.loan.decoupled && r.State() != Answered:
		r.sendDecoupled(errorResponse(err), true)
		return true
	}
	r.send(errorResponse(err), true, nil)
	return true
}
