package scheduler

import (
	"sync"

	"triton/server/infer"
)

// Order sends responses in the order in which their requests entered it. Requests enter
// when they are taken into a batch, or when they arrive at a response cache. Responses
// that are ready earlier wait.
type Order struct {
	mu struct {
		sync.Mutex
		front, back *entry
		sending     bool // a goroutine is sending; it also sends the responses that others add meanwhile
	}
}

// entry is a request in the order, and the sink of its responses.
type entry struct {
	order   *Order
	request *infer.Request
	sink    infer.Sink
	ready   []response
	ended   bool // the sink got the final response, or has panicked
	next    *entry
}

// response is a response that was not sent yet.
type response struct {
	resp  *infer.Response
	final bool
}

// Enter adds a request at the end of the order. The request's sink must be set.
func (o *Order) Enter(r *infer.Request) {
	r.Retain() // its sink may be part of the request
	e := &entry{order: o, request: r, sink: r.Sink}
	r.Sink = e
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.back == nil {
		o.mu.front = e
	} else {
		o.mu.back.next = e
	}
	o.mu.back = e
}

// Leave removes a request that has entered and gets no response, because it was refused.
func (*Order) Leave(r *infer.Request) {
	e := r.Sink.(*entry)
	r.Sink, e.sink = e.sink, discardSink{}
	e.Send(nil, true)
}

// discardSink releases responses.
type discardSink struct{}

func (discardSink) Send(resp *infer.Response, _ bool) {
	if resp != nil {
		resp.Release()
	}
}

// Send sends the response, and those of later requests that waited for it, if all earlier
// requests have ended. Otherwise the response waits.
func (e *entry) Send(resp *infer.Response, final bool) {
	o := e.order
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.ended {
		e.request.Offer(discardSink{}, resp, final)
		return
	}
	e.ready = append(e.ready, response{resp, final})
	if o.mu.sending {
		return
	}
	o.mu.sending = true
	defer func() { o.mu.sending = false }()
	for o.mu.front != nil && len(o.mu.front.ready) > 0 {
		o.flush(o.mu.front)
	}
}

// flush sends the waiting responses of the first request. If the final one is among them,
// it removes the request from the order.
func (o *Order) flush(e *entry) {
	all := e.ready
	e.ready = nil
	if !o.send(e, all) {
		return
	}
	e.ended = true
	o.mu.front = e.next
	if e.next == nil {
		o.mu.back = nil
	}
	o.releaseLate(e)
}

// send gives responses to a request's sink, without the lock, because a sink may call the
// order again. It reports whether the responses have ended: with the final one, or with a
// panic of the sink, which then gets nothing more.
func (o *Order) send(e *entry, all []response) (ended bool) {
	o.mu.Unlock()
	defer o.mu.Lock()
	for _, a := range all {
		if ended {
			e.request.Offer(discardSink{}, a.resp, a.final)
			continue
		}
		if a.final { // until then the backend may still write Times
			e.request.Times.Answered = infer.Now()
		}
		ended = e.request.Offer(e.sink, a.resp, a.final)
	}
	return ended
}

// releaseLate releases responses that came after the end, and then the request.
func (o *Order) releaseLate(e *entry) {
	late := e.ready
	e.ready = nil
	o.mu.Unlock()
	defer o.mu.Lock()
	for _, a := range late {
		e.request.Offer(discardSink{}, a.resp, a.final)
	}
	e.request.Release()
}
