//go:build cgo && linux

package inprocess

// #include "objects.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"triton/server/infer"
)

// NewTrace returns a TRITONSERVER_InferenceTrace through which a backend reports activities to t,
// and gets traces for the requests that it makes. FreeTrace deletes it.
func NewTrace(t infer.Trace) unsafe.Pointer {
	return unsafe.Pointer(C.capi_host(C.uintptr_t(cgo.NewHandle(t))))
}

// FreeTrace deletes a trace of NewTrace.
func FreeTrace(p unsafe.Pointer) {
	C.TRITONSERVER_InferenceTraceDelete((*C.TRITONSERVER_InferenceTrace)(p))
}

// ofHost returns the Go trace of a trace of NewTrace, or nil.
func ofHost(c *C.TRITONSERVER_InferenceTrace) infer.Trace {
	if c.host == nil {
		return nil
	}
	return cgo.Handle(c.host_handle).Value().(infer.Trace)
}

// hostTrace passes events on to a trace of the server, and deletes the trace of C when the request
// has ended: the server had taken it over.
type hostTrace struct {
	infer.Trace
	c *C.TRITONSERVER_InferenceTrace
}

// Observe passes an event on.
func (t hostTrace) Observe(e infer.Event) {
	t.Trace.Observe(e)
	if e.Kind == infer.EventEnded {
		FreeTrace(unsafe.Pointer(t.c))
	}
}

//export capiHostActivity
func capiHostActivity(handle C.uintptr_t, ns C.uint64_t, name *C.char) {
	_ = call(func() error {
		cgo.Handle(handle).Value().(infer.Trace).Observe(infer.Event{
			Kind: infer.EventActivity, Name: C.GoString(name), At: int64(ns) - clockOffset(),
		})
		return nil
	})
}

//export capiHostChild
func capiHostChild(handle C.uintptr_t) (child C.uintptr_t) {
	_ = call(func() error {
		if t := cgo.Handle(handle).Value().(infer.Trace).Child(); t != nil {
			child = C.uintptr_t(cgo.NewHandle(t))
		}
		return nil
	})
	return child
}

//export capiHostDrop
func capiHostDrop(handle C.uintptr_t) { cgo.Handle(handle).Delete() }
