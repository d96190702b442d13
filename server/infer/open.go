package infer

import (
	"sync"
	"sync/atomic"
)

// Keeper is the core's side of open requests.
type Keeper interface {
	// Responded comes after each response of an engine that was sent, and after
	// its end. The calls for one request never overlap.
	Responded(r *Request, did Reply)
	// Finished comes once, when the engine is done with the request, and gives
	// the engine's reference back.
	Finished(r *Request)
}

// Reply is what a Keeper hears of a response. The times are by Now.
type Reply struct {
	Index int // from 0
	// Begin is when the engine could begin with this response: when its batch
	// began, or the response before was sent. Output is when it had it ready,
	// End when it was sent.
	Begin, Output, End int64
	Empty              bool // no data
	Final              bool
	Written            bool // the engine said when Output was
	Err                error
}

// open is the state of a request of a decoupled model while it runs: it may be
// answered any number of times, by any goroutine, and outlives its batch.
type open struct {
	mu     sync.Mutex // orders the responses
	keeper Keeper     // nil: exactly one response is expected, before Execute returns
	next   Reply
	ended  bool // by the engine
	ends   atomic.Int32
}

func (o *open) reset() {
	if o.keeper != nil || o.next.Index > 0 { // few requests have one
		o.keeper, o.next, o.ended = nil, Reply{}, false
		o.ends.Store(0)
	}
}

// Open lets an engine answer any number of times until it sends a final
// response. The engine has a reference to the request until then.
func (r *Request) Open(k Keeper) {
	r.refs.Add(1)
	r.open.keeper = k
	r.open.next.Begin = Now()
}

// Over is called twice for an open request, when its batch has run and when its
// engine has sent the final response, and says the second time that it was so.
func (r *Request) Over() bool { return r.open.ends.Add(1) == 2 }

// Suspend closes an open request that its engine wants again, and gives the
// engine's reference back. The count of its responses goes on when it is opened
// again.
func (r *Request) Suspend() {
	r.open.mu.Lock()
	r.open.keeper = nil
	r.open.mu.Unlock()
	r.Release()
}

// Ended says whether the engine has sent its final response, or need not.
func (r *Request) Ended() bool {
	r.open.mu.Lock()
	defer r.open.mu.Unlock()
	return r.open.ended
}

func (r *Request) respondOpen(resp *Response, final bool) {
	if r.reply(resp, final) && final {
		r.open.keeper.Finished(r)
	}
}

// reply sends one response of the engine; false when that had ended before.
func (r *Request) reply(resp *Response, final bool) bool {
	o := &r.open
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		r.overdone.Store(true)
		if resp != nil {
			resp.Release()
		}
		return false
	}
	did := o.next
	did.Output, did.Empty, did.Final = Now(), resp == nil, final
	if resp != nil {
		did.Err = resp.Err
		if at := resp.OutputStart; at != 0 {
			did.Output, did.Written = at, true
		}
	}
	if r.send(resp, final) {
		did.End = Now()
		o.next.Index++
		o.next.Begin = did.End
		o.keeper.Responded(r, did)
	}
	o.ended = final
	return true
}

// Abort answers an open request for an engine that does not: whatever that
// still sends is dropped. The engine keeps its reference until it sends a final
// response.
func (r *Request) Abort(err error) {
	r.open.mu.Lock()
	defer r.open.mu.Unlock()
	resp := NewResponse()
	resp.Err = err
	r.send(resp, true)
}
