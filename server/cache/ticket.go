package cache

import (
	"sync"

	"triton/server/infer"
)

// ticket stores the response of one request that was not in the cache.
type ticket struct {
	runner *Runner
	key    Key
	lookup int64                  // ns
	before infer.ResponseObserver // of the runner in front of the cache
	flight *flight                // nil: without SingleFlight
}

var tickets = sync.Pool{New: func() any { return &ticket{} }}

// setTicket sets a ticket as the request's response observer.
func (c *Runner) setTicket(r *infer.Request, k Key, lookup int64) *ticket {
	t := tickets.Get().(*ticket)
	*t = ticket{runner: c, key: k, lookup: lookup, before: r.Observer}
	r.Observer = t
	return t
}

var _ infer.ResponseRetainer = (*ticket)(nil)

// RetainsResponses returns true, which keeps outputs out of memory that the client may
// change: such a response cannot be stored.
func (*ticket) RetainsResponses() bool { return true }

// Observe stores the one response of a request, if it is not an error.
func (t *ticket) Observe(r *infer.Request, resp *infer.Response, final bool) {
	whole := final && resp.Err == nil && immutable(resp)
	if whole {
		t.runner.storeContained(t.key, t.lookup, resp)
	}
	if t.flight != nil {
		t.flight.finish(resp, whole)
	}
	r.Observer = t.before
	if t.before != nil {
		t.before.Observe(r, resp, final)
	}
	*t = ticket{}
	tickets.Put(t)
}
