package python

import (
	"triton/pkg/status"
	"triton/server/backend/child"
	"triton/server/infer"
)

// openRequest is a request that the model has not answered. It is running until Execute
// returns. A request whose response comes from a response sender stays in the table after
// that, until the final response or the end of the child. The code that takes it out of the
// table ends it.
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

// take takes a request out of the table. It reports false if the request was taken before.
func (e *events) take(id uint64) (openRequest, bool) {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	return e.remove(id)
}

func (e *events) remove(id uint64) (openRequest, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o, ok := e.mu.open[id]
	delete(e.mu.open, id)
	return o, ok
}

// discard takes a batch that has failed out of the table. The core answers its requests.
func (e *events) discard(first uint64, n int) {
	for i := range n {
		e.take(first + uint64(i))
	}
}

// keep returns an open request after Keep: its responses and the return of Execute may then
// come in any order. The caller holds keeping.
func (e *events) keep(id uint64) (openRequest, bool) {
	e.mu.Lock()
	o, ok := e.mu.open[id]
	e.mu.Unlock()
	if o.r == nil || o.kept {
		return o, ok
	}
	o.r.Keep() // without the lock: it may answer the request
	o.kept = true
	e.mu.Lock()
	e.mu.open[id] = o
	e.mu.Unlock()
	return o, ok
}

// takeKept is take for the goroutine that handles frames, while Execute may run.
func (e *events) takeKept(id uint64) (openRequest, bool) {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	_, _ = e.keep(id)
	return e.remove(id)
}

// leave leaves a request of a batch to its response sender.
func (e *events) leave(id uint64, lost func() error) {
	e.keeping.Lock()
	o, ok := e.keep(id)
	e.mu.Lock()
	over := e.mu.ended || o.r == nil
	switch {
	case over:
		delete(e.mu.open, id)
	case ok:
		e.mu.open[id] = openRequest{r: o.r, kept: true}
	}
	e.mu.Unlock()
	e.keeping.Unlock()
	if over && o.r != nil {
		o.r.Fail(lost())
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
	defer e.countSend()
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
		if o, ok := e.takeKept(id); ok {
			o.finish(resp)
			return
		}
	} else if req := e.borrowKept(id); req != nil {
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

// borrowKept is borrow for a response, while Execute may run.
func (e *events) borrowKept(id uint64) *infer.Request {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	_, _ = e.keep(id)
	return e.borrow(id)
}

// countSend counts a response that was handled.
func (e *events) countSend() {
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

// forgotten ends the requests that the model has not answered and cannot answer any more.
func (e *events) forgotten(r *child.Reader) {
	for range r.Uint32() {
		id := r.Uint64()
		if r.Err() != nil {
			return
		}
		o, ok := e.takeKept(id)
		switch {
		case !ok:
		case e.model.decoupled:
			o.finish(nil)
		default:
			o.finish(failed(status.New(status.Internal, "the model '%s' released the request and did not respond to it", e.log.instance)))
		}
	}
}
