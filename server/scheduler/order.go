package scheduler

import (
	"sync"

	"triton/server/infer"
)

// order lets responses leave in the order in which their requests were cut into
// batches. What is ready before its turn is kept.
type order struct {
	mu struct {
		sync.Mutex
		front, back *slot
		sending     bool // somebody sends; who comes meanwhile leaves that to it
	}
}

// slot is a request's place in the order, and the sink of its responses.
type slot struct {
	order   *order
	request *infer.Request
	sink    infer.Sink
	ready   []ready
	next    *slot
}

// ready is a response that was not sent yet.
type ready struct {
	resp  *infer.Response
	final bool
}

// enter reserves the next place for a request; the calls define the order.
func (o *order) enter(r *infer.Request) {
	r.Retain() // its sink may be a part of it
	s := &slot{order: o, request: r, sink: r.Sink}
	r.Sink = s
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.back == nil {
		o.mu.front = s
	} else {
		o.mu.back.next = s
	}
	o.mu.back = s
}

// Send sends the response, and what it kept waiting, when its turn has come.
func (s *slot) Send(resp *infer.Response, final bool) {
	o := s.order
	o.mu.Lock()
	defer o.mu.Unlock()
	s.ready = append(s.ready, ready{resp, final})
	if o.mu.sending {
		return
	}
	o.mu.sending = true
	for o.mu.front != nil && len(o.mu.front.ready) > 0 {
		o.flush(o.mu.front)
	}
	o.mu.sending = false
}

// flush sends what the request in front has, without the lock: a sink may call
// back.
func (o *order) flush(s *slot) {
	all := s.ready
	s.ready = nil
	o.mu.Unlock()
	over := false
	for _, a := range all {
		over = a.final
		s.sink.Send(a.resp, a.final)
	}
	if over {
		s.request.Release()
	}
	o.mu.Lock()
	if over {
		o.mu.front = s.next
		if s.next == nil {
			o.mu.back = nil
		}
	}
}
