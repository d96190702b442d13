package scheduler

import (
	"sync"

	"triton/server/infer"
)

// Order lets responses leave in the order in which their requests entered: were
// cut into batches, or came to a cache. What is ready before its turn is kept.
type Order struct {
	mu struct {
		sync.Mutex
		front, back *slot
		sending     bool // somebody sends; who comes meanwhile leaves that to it
	}
}

// slot is a request's place in the order, and the sink of its responses.
type slot struct {
	order   *Order
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

// Enter reserves the next place for a request, whose sink is set; the calls
// define the order.
func (o *Order) Enter(r *infer.Request) {
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

// Leave gives up the place of a request that has entered and will get no
// response: it was refused.
func (*Order) Leave(r *infer.Request) {
	s := r.Sink.(*slot)
	r.Sink, s.sink = s.sink, nobody{}
	s.Send(nil, true)
}

// nobody waits for responses.
type nobody struct{}

func (nobody) Send(*infer.Response, bool) {}

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
func (o *Order) flush(s *slot) {
	all := s.ready
	s.ready = nil
	o.mu.Unlock()
	over := false
	for _, a := range all {
		if over = a.final; over {
			s.request.Times.Answered = infer.Now()
		}
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
