package infertest

import (
	"triton/server/infer"
)

// ObserverFunc is a response observer of one function.
type ObserverFunc func(r *infer.Request, resp *infer.Response, final bool)

// Observe calls the function.
func (f ObserverFunc) Observe(r *infer.Request, resp *infer.Response, final bool) { f(r, resp, final) }

// TraceFunc is a trace of one function. The traces of a request's children are the same
// function.
type TraceFunc func(e infer.Event)

// Observe calls the function.
func (f TraceFunc) Observe(e infer.Event) { f(e) }

// Child returns the trace itself.
func (f TraceFunc) Child() infer.Trace { return f }
