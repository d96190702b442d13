package infer

// Trace follows one sampled request through the core, which only tells it what
// happens; what is recorded and how is the implementation's. The calls for one
// request never overlap.
type Trace interface {
	// Begin comes when the request has passed the checks, before it is queued.
	Begin(r *Request)
	// Executed comes once per batch, with the first traced request of it, after
	// the batch has run and before anybody has an answer, unless the model is
	// decoupled: then responses may come before it and after it.
	Executed(b *Batch)
	// Respond comes with every response, before it is sent. The compute stamps in
	// r.Times are not complete yet.
	Respond(r *Request, resp *Response)
	// End comes when the front end and the core are done with the request, with
	// all time stamps in r.Times. ComputeStart is 0 when it never ran.
	End(r *Request)
	// Child is the trace of a request that a model makes while it serves this one.
	Child() Trace
}
