package infer

import (
	"fmt"
	"runtime/debug"
)

// fault reports a panic that was contained.
func (r *Request) fault(where string, p any) {
	if r.Log != nil {
		r.Log.Error("panic in "+where, "model", r.ModelName, "version", r.ModelVersion, "id", r.ID,
			"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// traced tells the trace of a response. A trace that panics is of no use any
// more; the request goes on without it.
func (r *Request) traced(resp *Response) {
	defer r.untrace()
	r.Trace.Respond(r, resp)
}

// BeginTrace tells the trace, if there is one, that the request was accepted.
func (r *Request) BeginTrace() {
	if r.Trace != nil {
		defer r.untrace()
		r.Trace.Begin(r)
	}
}

// childTrace is the trace of a request that is made for this one.
func (r *Request) childTrace() Trace {
	defer r.untrace()
	return r.Trace.Child()
}

// ended tells the trace that the request is over.
func (r *Request) ended() {
	defer r.untrace()
	r.Trace.End(r)
	r.Trace = nil
}

// ran tells the trace of the batch.
func (r *Request) ran(b *Batch) {
	defer r.untrace()
	r.Trace.Executed(b)
}

// untrace is deferred around every call of a trace.
func (r *Request) untrace() {
	if p := recover(); p != nil {
		r.fault("a trace", p)
		r.Trace = nil
	}
}
