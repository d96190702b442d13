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
	over    bool // the sink has its end: that of the request, or of its own panic
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

func (nobody) Send(resp *infer.Response, _ bool) {
	if resp != nil {
		resp.Release()
	}
}

// Send sends the response, and what it kept waiting, when its turn has come.
func (s *slot) Send(resp *infer.Response, final bool) {
	o := s.order
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.over {
		s.request.Offer(nobody{}, resp, final)
		return
	}
	s.ready = append(s.ready, ready{resp, final})
	if o.mu.sending {
		return
	}
	o.mu.sending = true
	defer func() { o.mu.sending = false }()
	for o.mu.front != nil && len(o.mu.front.ready) > 0 {
		o.flush(o.mu.front)
	}
}

// flush sends what the request in front has. Those behind it are next when its sink
// has its end.
func (o *Order) flush(s *slot) {
	all := s.ready
	s.ready = nil
	if !o.send(s, all) {
		return
	}
	s.over = true
	o.mu.front = s.next
	if s.next == nil {
		o.mu.back = nil
	}
	o.discard(s)
}

// send gives responses to a request's sink, without the lock: a sink may call back.
// One that panics has its end with that, and gets nothing more.
func (o *Order) send(s *slot, all []ready) (over bool) {
	o.mu.Unlock()
	defer o.mu.Lock()
	for _, a := range all {
		if over {
			s.request.Offer(nobody{}, a.resp, a.final)
			continue
		}
		if a.final { // else the engine may be about to write it
			s.request.Times.Answered = infer.Now()
		}
		over = s.request.Offer(s.sink, a.resp, a.final)
	}
	return over
}

// discard releases what has come too late for a request whose sink has its end, and
// then the request.
func (o *Order) discard(s *slot) {
	late := s.ready
	s.ready = nil
	o.mu.Unlock()
	defer o.mu.Lock()
	for _, a := range late {
		s.request.Offer(nobody{}, a.resp, a.final)
	}
	s.request.Release()
}
