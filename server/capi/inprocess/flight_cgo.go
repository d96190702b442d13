//go:build cgo && linux

package inprocess

// #include "objects.h"
import "C"

import (
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// flight is one run of a TRITONSERVER_InferenceRequest. It is the sink of the responses and the
// owner of the input buffers, which are the caller's memory. When the final response was passed on
// and no input is used any more, the caller gets the request back.
type flight struct {
	request *C.TRITONSERVER_InferenceRequest
	model   infer.Model
	buffers []tensor.Buffer
	trace   *tracer // nil: none

	// What responses need is copied, because the caller may reuse or delete the request before
	// the last of them is passed on.
	allocator      *C.TRITONSERVER_ResponseAllocator
	allocatorUserp unsafe.Pointer
	complete       C.TRITONSERVER_InferenceResponseCompleteFn_t
	completeUserp  unsafe.Pointer

	// pending counts the input buffers in use, the final response and start; failed is set
	// before the last one is counted when the request was refused.
	pending   atomic.Int64
	failed    bool
	cancelled atomic.Bool

	mu      sync.Mutex
	running *infer.Request // until the final response
}

var (
	_ infer.Sink   = (*flight)(nil)
	_ tensor.Owner = (*flight)(nil)
)

//export capiInfer
func capiInfer(server C.uintptr_t, request *C.TRITONSERVER_InferenceRequest, trace *C.TRITONSERVER_InferenceTrace) *C.TRITONSERVER_Error {
	return call(func() error { return serverOf(server).start(request, trace) })
}

// start submits a request. After an error the caller keeps it, and no function of it is called.
func (s *Server) start(c *C.TRITONSERVER_InferenceRequest, trace *C.TRITONSERVER_InferenceTrace) error {
	m, err := s.find(C.GoString(c.model), versionText(c.version))
	if err != nil {
		return err
	}
	f := &flight{
		request: c, allocator: c.allocator, allocatorUserp: c.allocator_userp,
		complete: c.complete, completeUserp: c.complete_userp,
	}
	r := infer.NewRequest()
	r.ModelName, r.ModelVersion = m.Name(), m.Version()
	f.pending.Store(1)
	if err := f.fill(r, c); err != nil {
		f.failed = true
		r.Release()
		r.Release()
		m.Release()
		return err
	}
	m = infer.Choose(m, r)
	f.model, f.running = m, r
	switch {
	case trace == nil:
	case ofHost(trace) != nil:
		r.Trace = hostTrace{ofHost(trace), trace}
	default:
		f.trace = newTracer(trace, m, r.ID)
		r.Trace = f.trace
	}
	f.pending.Add(1)
	r.Sink = f
	if c.flight != 0 {
		cgo.Handle(c.flight).Delete()
	}
	c.flight = C.uintptr_t(cgo.NewHandle(f))
	if err := m.Submit(r); err != nil {
		f.refuse(r)
		return err
	}
	f.done()
	return nil
}

// refuse ends a request that the model refused.
func (f *flight) refuse(r *infer.Request) {
	f.failed = true
	if f.trace != nil {
		f.trace.abandon()
	} else {
		r.Trace = nil // it is the caller's again
	}
	f.mu.Lock()
	f.running = nil
	f.mu.Unlock()
	r.Release()
	f.model.Release()
}

// fill makes r the request of C.
func (f *flight) fill(r *infer.Request, c *C.TRITONSERVER_InferenceRequest) error {
	r.ID = C.GoString(c.id)
	r.Priority, r.TimeoutMicros, r.EmptyFinal = uint64(c.priority), uint64(c.timeout), true
	r.SequenceStart = c.flags&C.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START != 0
	r.SequenceEnd = c.flags&C.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END != 0
	if !c.text_correlation {
		r.SequenceID = uint64(c.correlation)
	} else if err := r.SetSequenceText(C.GoString(c.correlation_text)); err != nil {
		return err
	}
	r.Raw = bool(c.raw)
	for _, p := range unsafe.Slice(c.parameters, c.parameter_count) {
		r.Parameters = append(r.Parameters, parameter(p))
	}
	for _, name := range unsafe.Slice(c.outputs, c.output_count) {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: C.GoString(name), Binary: true})
	}
	inputs := unsafe.Slice(c.inputs, c.input_count)
	n := 0
	for i := range inputs {
		n += int(inputs[i].buffer_count)
	}
	f.buffers = make([]tensor.Buffer, n)
	next := 0
	for i := range inputs {
		if err := f.addInput(r, &inputs[i], &next); err != nil {
			return err
		}
	}
	return nil
}

// addInput adds an input whose bytes are the caller's memory. Data for a host policy counts only
// if there is no other.
func (f *flight) addInput(r *infer.Request, in *C.capi_input, next *int) error {
	t := r.AddInput()
	t.Name, t.DataType = C.GoString(in.name), dataType(in._type)
	t.Shape = append(t.Shape[:0], unsafe.Slice((*int64)(unsafe.Pointer(in.shape)), in.dims)...)
	buffers := unsafe.Slice(in.buffers, in.buffer_count)
	var policy *C.char
	for i := range buffers {
		if policy = buffers[i].policy; policy == nil {
			break
		}
	}
	for i := range buffers {
		b := &buffers[i]
		if (policy == nil) != (b.policy == nil) || policy != nil && C.strcmp(policy, b.policy) != 0 {
			continue
		}
		if b._type == C.TRITONSERVER_MEMORY_GPU {
			return status.New(status.Unsupported, "%sdata of input '%s' is in GPU memory, which this server cannot read", r.Tag(), t.Name)
		}
		buffer := &f.buffers[*next]
		*next++
		buffer.Init(unsafe.Slice((*byte)(b.base), b.size), true, f)
		f.pending.Add(1)
		t.Data.Append(buffer, 0, int(b.size))
		buffer.Release() // the tensor has its own reference
	}
	return nil
}

// dataType returns the data type of a number of C. The order of the two enums differs only in
// their names.
func dataType(t C.TRITONSERVER_DataType) tensor.DataType {
	if t > C.TRITONSERVER_TYPE_BF16 {
		return tensor.Invalid
	}
	return tensor.DataType(t)
}

func parameter(p *C.TRITONSERVER_Parameter) kserve.Parameter {
	k := kserve.Parameter{Name: C.GoString(p.name)}
	value := C.capi_parameter_value(p)
	switch p._type {
	case C.TRITONSERVER_PARAMETER_STRING:
		k.Kind, k.String = kserve.ParamString, C.GoString((*C.char)(value))
	case C.TRITONSERVER_PARAMETER_INT:
		k.Kind, k.Int = kserve.ParamInt, *(*int64)(value)
	case C.TRITONSERVER_PARAMETER_BOOL:
		k.Kind, k.Bool = kserve.ParamBool, *(*bool)(value)
	default:
		k.Kind, k.Double = kserve.ParamDouble, *(*float64)(value)
	}
	return k
}

// Free counts an input buffer that is no longer used.
func (f *flight) Free(*tensor.Buffer) { f.done() }

// done counts an end. The last one returns the request to its caller, unless it was refused.
func (f *flight) done() {
	if f.pending.Add(-1) == 0 && !f.failed {
		C.capi_call_release(f.request)
	}
}

// Send passes a response on. The caller's functions run on this goroutine. The request is released
// before the final response, if the inputs allow it, because programs delete requests when they
// have the response.
func (f *flight) Send(resp *infer.Response, final bool) {
	var c *C.TRITONSERVER_InferenceResponse
	if resp != nil {
		c = f.response(resp)
		resp.Release()
	}
	if !final {
		C.capi_call_complete(f.complete, c, 0, f.completeUserp)
		return
	}
	f.mu.Lock()
	r := f.running
	f.running = nil
	f.mu.Unlock()
	complete, userp, model := f.complete, f.completeUserp, f.model
	f.done()
	C.capi_call_complete(complete, c, C.TRITONSERVER_RESPONSE_COMPLETE_FINAL, userp)
	r.Release()
	model.Release()
}

//export capiCancel
func capiCancel(handle C.uintptr_t) *C.TRITONSERVER_Error {
	return call(func() error {
		f := cgo.Handle(handle).Value().(*flight)
		f.cancelled.Store(true)
		f.mu.Lock()
		r := f.running
		if r != nil {
			r.Retain()
		}
		f.mu.Unlock()
		if r != nil {
			r.Cancel()
			r.Release()
		}
		return nil
	})
}

//export capiIsCancelled
func capiIsCancelled(handle C.uintptr_t) (is C.bool) {
	_ = call(func() error {
		is = C.bool(cgo.Handle(handle).Value().(*flight).cancelled.Load())
		return nil
	})
	return is
}

//export capiForgetFlight
func capiForgetFlight(handle C.uintptr_t) { cgo.Handle(handle).Delete() }
