package cache

import (
	"sync"

	"triton/server/infer"
)

// missObserver is the response observer of a request whose key was not in the cache. It stores
// the response.
type missObserver struct {
	runner   *Runner
	key      Key
	lookup   int64                  // ns
	replaced infer.ResponseObserver // the observer that this one replaces; may be nil
	flight   *flight                // nil: without SingleFlight
}

var missObservers = sync.Pool{New: func() any { return &missObserver{} }}

// observeMiss sets the observer that stores the request's response.
func (c *Runner) observeMiss(r *infer.Request, k Key, lookup int64) *missObserver {
	t := missObservers.Get().(*missObserver)
	*t = missObserver{runner: c, key: k, lookup: lookup, replaced: r.Observer}
	r.Observer = t
	return t
}

var _ infer.ResponseRetainer = (*missObserver)(nil)

// RetainsResponses returns true. So backends do not write outputs into memory that the
// client may change, which could not be stored.
func (*missObserver) RetainsResponses() bool { return true }

// Observe stores the one response of a request, if it is not an error.
func (t *missObserver) Observe(r *infer.Request, resp *infer.Response, final bool) {
	whole := final && resp.Err == nil && immutable(resp)
	if whole {
		t.runner.storeContained(t.key, t.lookup, resp)
	}
	if t.flight != nil {
		t.flight.finish(resp, whole)
	}
	r.Observer = t.replaced
	if t.replaced != nil {
		t.replaced.Observe(r, resp, final)
	}
	*t = missObserver{}
	missObservers.Put(t)
}
