package cache

import (
	"sync"

	"triton/server/infer"
)

// ticket is the response observer of one request that was not in the cache. It stores the
// response.
type ticket struct {
	runner *Runner
	key    Key
	lookup int64                  // ns
	before infer.ResponseObserver // the observer that the ticket replaces; may be nil
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

// RetainsResponses returns true. So backends do not write outputs into memory that the
// client may change, which could not be stored.
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
