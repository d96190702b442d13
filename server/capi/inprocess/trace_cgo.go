//go:build cgo && linux

package inprocess

// #include "objects.h"
import "C"

import (
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// tracer passes the events of a request to a TRITONSERVER_InferenceTrace. The times of the core are
// passed when the request has ended, in order; tensors as they come.
type tracer struct {
	c *C.TRITONSERVER_InferenceTrace

	mu   sync.Mutex // guards over, and serializes the calls
	over bool       // the trace is the caller's again
}

var _ infer.Trace = (*tracer)(nil)

func newTracer(c *C.TRITONSERVER_InferenceTrace, m infer.Model, id string) *tracer {
	begin(c, m.Name(), m.Version(), id)
	return &tracer{c: c}
}

// begin sets what a trace is of.
func begin(c *C.TRITONSERVER_InferenceTrace, model, version, id string) {
	number, _ := strconv.ParseInt(version, 10, 64)
	name, request := C.CString(model), C.CString(id)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(request))
	C.capi_trace_begin(c, name, C.int64_t(number), request)
}

// abandon makes the trace the caller's: the request was refused.
func (t *tracer) abandon() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}

// Observe passes an event on. Activities of a backend may come from any goroutine.
func (t *tracer) Observe(e infer.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	switch e.Kind {
	case infer.EventReceived:
		begin(t.c, e.Request.ModelName, e.Request.ModelVersion, e.Request.ID)
		t.tensors(C.TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT, e.Request.Inputs)
	case infer.EventResponded:
		if e.Response.Err == nil {
			t.tensors(C.TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT, e.Response.Outputs)
		}
	case infer.EventActivity:
		name := C.CString(e.Name)
		defer C.free(unsafe.Pointer(name))
		C.TRITONSERVER_ErrorDelete(C.TRITONSERVER_InferenceTraceReportActivity(t.c, C.uint64_t(e.At+clockOffset()), name))
	case infer.EventEnded:
		t.over = true
		t.times(&e.Request.Times)
		C.capi_call_trace_release(t.c)
	}
}

// clockOffset is what the machine's monotonic clock, which C code reads, is ahead of infer.Now.
var clockOffset = sync.OnceValue(func() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano() - infer.Now()
})

func (t *tracer) times(at *infer.Times) {
	report := func(activity C.int, ns int64) {
		if ns != 0 {
			C.capi_call_activity(t.c, activity, C.uint64_t(ns+clockOffset()))
		}
	}
	report(C.TRITONSERVER_TRACE_REQUEST_START, at.Received)
	report(C.TRITONSERVER_TRACE_QUEUE_START, at.Queued)
	if at.ComputeStart != 0 {
		report(C.TRITONSERVER_TRACE_COMPUTE_START, at.ComputeStart)
		report(C.TRITONSERVER_TRACE_COMPUTE_INPUT_END, at.InputEnd)
		report(C.TRITONSERVER_TRACE_COMPUTE_OUTPUT_START, at.OutputStart)
		report(C.TRITONSERVER_TRACE_COMPUTE_END, at.ComputeEnd)
	}
	report(C.TRITONSERVER_TRACE_REQUEST_END, max(at.Answered, at.ComputeEnd))
}

// tensors passes tensors on, as contiguous copies in memory of C.
func (t *tracer) tensors(activity C.int, all []kserve.Tensor) {
	if t.c.tensor == nil || t.c.level&C.TRITONSERVER_TRACE_LEVEL_TENSORS == 0 {
		return
	}
	for i := range all {
		in := &all[i]
		size := in.Data.Len()
		data := C.malloc(C.size_t(size) + 1)
		if tensor.CopyShared(unsafe.Slice((*byte)(data), size), &in.Data) == nil {
			name := C.CString(in.Name)
			shape := (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(in.Shape)))
			C.capi_call_tensor(t.c, activity, name, C.TRITONSERVER_DataType(in.DataType), data, C.size_t(size), shape, C.uint64_t(len(in.Shape)))
			C.free(unsafe.Pointer(name))
		}
		C.free(data)
	}
}

// Child returns the trace of a request that the traced one causes.
func (t *tracer) Child() infer.Trace {
	var child *C.TRITONSERVER_InferenceTrace
	C.TRITONSERVER_ErrorDelete(C.TRITONSERVER_InferenceTraceSpawnChildTrace(t.c, &child))
	return &tracer{c: child}
}
