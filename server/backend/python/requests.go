package python

import (
	"triton/pkg/status"
	"triton/server/backend/child"
	"triton/server/infer"
)

// openRequest is a request that the model has not answered. It is running until Execute
// returns. A request whose response comes from a response sender stays in the table after
// that, until the final response or the end of the child. Whoever takes it out of the table
// ends it.
type openRequest struct {
	r       *infer.Request // nil for a null request
	running bool           // its batch runs
	kept    bool           // LetGo is owed
}

// add enters the requests of a batch, and returns the number of the first.
func (e *events) add(requests []*infer.Request, decoupled bool) uint64 {
	if decoupled {
		for _, r := range requests {
			if !r.Membership.Null {
				r.Keep()
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.mu.lastOpen + 1
	for _, r := range requests {
		e.mu.lastOpen++
		o := openRequest{r: r, running: true, kept: decoupled}
		if r.Membership.Null {
			o = openRequest{running: true}
		}
		e.mu.open[e.mu.lastOpen] = o
	}
	return first
}

// take takes a request out of the table. It returns false when that was done before.
func (e *events) take(id uint64) (openRequest, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o, ok := e.mu.open[id]
	delete(e.mu.open, id)
	return o, ok
}

// forget takes a batch out of the table.
func (e *events) forget(first uint64, n int) {
	for i := range n {
		e.take(first + uint64(i))
	}
}

// leave leaves a request of a batch to its response sender.
func (e *events) leave(id uint64, lost func() error) {
	e.mu.Lock()
	o, ok := e.mu.open[id]
	e.mu.Unlock()
	if !ok {
		return
	}
	if o.r == nil {
		e.take(id)
		return
	}
	if !o.kept {
		o.r.Keep()
	}
	e.mu.Lock()
	_, ok = e.mu.open[id]
	ended := e.mu.ended
	if ok && !ended {
		e.mu.open[id] = openRequest{r: o.r, kept: true}
	} else {
		delete(e.mu.open, id)
	}
	e.mu.Unlock()
	switch {
	case ok && ended:
		o.r.Fail(lost())
		o.r.LetGo()
	case !ok && !o.kept: // answered meanwhile by a sender that did not know that it is kept
		o.r.LetGo()
	}
}

// finish sends the final response of a request that was taken.
func (o openRequest) finish(resp *infer.Response) {
	if o.r == nil {
		if resp != nil {
			resp.Release()
		}
		return
	}
	o.r.Respond(resp, true)
	if o.kept {
		o.r.LetGo()
	}
}

// send sends a response of a response sender.
func (e *events) send(r *child.Reader) {
	defer e.counted()
	id, final := r.Uint64(), r.Uint8() != 0
	var resp *infer.Response
	if r.Uint8() != 0 {
		resp = e.response(r, nil)
	}
	if r.Err() != nil {
		if resp != nil {
			resp.Release()
		}
		return
	}
	if final {
		if o, ok := e.take(id); ok {
			o.finish(resp)
			return
		}
	} else if req := e.borrow(id); req != nil {
		req.Respond(resp, false)
		req.Release()
		return
	}
	if resp != nil { // the request was answered without the model
		resp.Release()
	}
}

// borrow returns an open request with a reference; nil when there is none.
func (e *events) borrow(id uint64) *infer.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.mu.open[id].r
	if r != nil {
		r.Retain()
	}
	return r
}

// counted counts a response that was handled.
func (e *events) counted() {
	e.mu.Lock()
	e.mu.sends++
	e.mu.sent.Broadcast()
	e.mu.Unlock()
}

// waitSends waits until the first n responses are handled, or the child has ended.
func (e *events) waitSends(n uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for int32(n-e.mu.sends) > 0 && !e.mu.ended {
		e.mu.sent.Wait()
	}
}

// forgotten ends the requests whose response senders the model has lost.
func (e *events) forgotten(r *child.Reader) {
	for range r.Uint32() {
		id := r.Uint64()
		if r.Err() != nil {
			return
		}
		o, ok := e.take(id)
		switch {
		case !ok:
		case e.model.decoupled:
			o.finish(nil)
		default:
			o.finish(failed(status.New(status.Internal, "the model '%s' released the request and did not respond to it", e.log.instance)))
		}
	}
}
