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

// follow lets the trace, if there is one, see what becomes of the request.
func (x *exchange) follow(req *infer.Request) {
	if x.trace != nil {
		req.Trace = x.trace
	}
}

// event notes a moment of a traced request.
func (x *exchange) event(name string) {
	if x.trace != nil {
		x.trace.Event(name, infer.Now())
	}
}

// responded notes that the model's answer, or the first of them, is there and
// goes out.
func (x *exchange) responded() { x.respondedAt(infer.Now()) }

// respondedAt is responded for an answer that was given then. Who waits for it
// may wake up later, and not in the order of the answers.
func (x *exchange) respondedAt(then int64) {
	if x.trace != nil {
		x.trace.Event("INFER_RESPONSE_COMPLETE", cmp.Or(then, infer.Now()))
		x.event("HTTP_SEND_START")
	}
}

// finish ends what follows the request, when its reply is on its way.
func (x *exchange) finish() {
	if x.trace != nil {
		x.event("HTTP_SEND_END")
		x.trace.Close()
	}
	x.logAccess()
}
