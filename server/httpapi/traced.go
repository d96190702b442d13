package httpapi

import (
	"cmp"

	"triton/server/infer"
)

// sample decides whether the request for a model is traced.
func (x *exchange) sample(model string) {
	if t := x.api.opts.Tracer; t.Active() {
		x.trace = t.Sample(model, x.carrier)
		x.trace.Event("HTTP_RECV_START", x.began)
	}
}

// follow attaches the trace, if any, to the request.
func (x *exchange) follow(req *infer.Request) {
	if x.trace != nil {
		req.Trace = x.trace
	}
}

// event records a timestamp of a traced request.
func (x *exchange) event(name string) {
	if x.trace != nil {
		x.trace.Event(name, infer.Now())
	}
}

// responded records that the model's first response is complete and is being sent.
func (x *exchange) responded() { x.respondedAt(infer.Now()) }

// respondedAt is responded with the time of the response. The goroutine that waits for it may
// wake up later, and not in the order of the responses.
func (x *exchange) respondedAt(then int64) {
	if x.trace != nil {
		x.trace.Event("INFER_RESPONSE_COMPLETE", cmp.Or(then, infer.Now()))
		x.event("HTTP_SEND_START")
	}
}

// finish ends the trace and logs the request, after its reply was written.
func (x *exchange) finish() {
	if x.trace != nil {
		x.event("HTTP_SEND_END")
		x.trace.Close()
	}
	x.logAccess()
}
