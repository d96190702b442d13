package infer

import "context"

// Runner runs the requests of one model version, which have passed the checks against its
// signature. The instance group and the ensemble execute them; the response cache, length
// buckets and admission control wrap another Runner.
type Runner interface {
	// Infer runs one request and waits for its one response, as Model.Infer. It consumes
	// the core's reference in every case.
	Infer(ctx context.Context, r *Request) (*Response, error)
	// Submit queues a request, as Model.Submit, but consumes the core's reference only on
	// success.
	Submit(r *Request) error
	// Ready reports whether requests can be served now.
	Ready() bool
	// Drain stops accepting requests, waits for the accepted ones and releases the
	// runner's resources. When ctx ends first it returns an error and may be called
	// again.
	Drain(ctx context.Context) error
}

// ResponseObserver observes each response with data or an error, before its outputs are
// written to regions and it is sent, and may change it. The calls for one request never
// overlap. An observer that replaces another one calls it before it returns, even after a
// panic of its own, because other requests may depend on that call. So it recovers from
// the panic and makes it the error of the response.
type ResponseObserver interface {
	Observe(r *Request, resp *Response, final bool)
}
