package infer

import "context"

// Runner runs the requests of one model version. They have passed the checks
// against its signature. The group of instances and the ensemble do the work;
// others stand in front of one of them: the response cache, length buckets.
type Runner interface {
	// Infer runs one request and waits for its one response, as Model.Infer. It
	// uses up the core's reference in every case.
	Infer(ctx context.Context, r *Request) (*Response, error)
	// Submit queues a request, as Model.Submit, but the core's reference moves into
	// the runner only when there is no error.
	Submit(r *Request) error
	// Ready says whether requests can be served now.
	Ready() bool
	// Drain stops accepting requests, lets the accepted ones finish and gives up
	// what the runner holds. When ctx ends first the error says so; Drain may then
	// be called again.
	Drain(ctx context.Context) error
}

// Tap sees each response of a request that has data or an error before its outputs are
// placed and it is sent, and may change it. The calls for one request never
// overlap. Who sets a Tap calls the one that was there before, after itself, whatever
// happens to itself: other requests may wait for what that one hears. So a Tap contains
// its own panics, and makes them the error of the response.
type Tap interface {
	Respond(r *Request, resp *Response, final bool)
}
