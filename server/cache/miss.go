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
	miss := missObservers.Get().(*missObserver)
	*miss = missObserver{runner: c, key: k, lookup: lookup, replaced: r.Observer}
	r.Observer = miss
	return miss
}

var _ infer.ResponseRetainer = (*missObserver)(nil)

// RetainsResponses returns true. So backends do not write outputs into memory that the
// client may change, which could not be stored.
func (*missObserver) RetainsResponses() bool { return true }

// Observe stores the one response of a request, if it is not an error.
func (o *missObserver) Observe(r *infer.Request, resp *infer.Response, final bool) {
	storable := final && resp.Err == nil && immutable(resp)
	if storable {
		o.runner.storeContained(o.key, o.lookup, resp)
	}
	if o.flight != nil {
		how := failed
		switch {
		case storable:
			how = computed
		case r.Cancelled():
			how = cancelled
		}
		o.flight.finish(resp, how)
	}
	r.Observer = o.replaced
	if o.replaced != nil {
		o.replaced.Observe(r, resp, final)
	}
	*o = missObserver{}
	missObservers.Put(o)
}
