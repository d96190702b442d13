//go:build cgo && linux

package plugin

// #include "host.h"
import "C"

import (
	"unsafe"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/capi/inprocess"
	"triton/server/infer"
)

// contain is deferred in each function that C calls: a panic must not unwind into C.
func (s *slot) contain(err **C.TRITONSERVER_Error) {
	if p := recover(); p != nil {
		s.in.model.report(p, err)
	}
}

// contain is the same for functions without a request.
func (m *model) contain(err **C.TRITONSERVER_Error) {
	if p := recover(); p != nil {
		m.report(p, err)
	}
}

func (m *model) report(panicked any, err **C.TRITONSERVER_Error) {
	log.Panicked(m.spec.Log, "panic in a call from a backend", panicked, "model", m.spec.Name)
	if err != nil {
		*err = give(status.New(status.Internal, "the server panicked: %v", panicked))
	}
}

//export trt_go_send
func trt_go_send(c *C.TRITONBACKEND_Request, response *C.TRITONBACKEND_Response, final C.bool) {
	s := slotOf(c)
	defer s.contain(nil)
	s.mu.Lock()
	r := s.r
	if r == nil || s.final || c.sent != nil || r.Membership.Null {
		null := r != nil && r.Membership.Null
		if null && bool(final) {
			s.final = true
		}
		gone, in := s.gone, s.in
		s.mu.Unlock()
		if !null && !gone {
			in.model.spec.Log.Error("the backend sent a response after the final one of the request; it is dropped", "model", in.model.spec.Name)
		}
		return
	}
	var resp *infer.Response
	if response != nil {
		resp = s.response(response)
		s.outBytes = 0
	}
	s.begun = s.begun || resp != nil
	if response != nil {
		s.responses++
	}
	if final {
		s.final = true
		s.gone = r.Cancelled()
		if s.released {
			s.r = nil
		}
	}
	s.beginSend(r)
	s.mu.Unlock()
	defer s.endSend(r) // also after a panic
	r.Respond(resp, bool(final))
}

// beginSend notes that a response is about to be sent. An execution that ends meanwhile keeps the
// request, because the core expects the answers of others. The caller holds the lock.
func (s *slot) beginSend(r *infer.Request) {
	r.Retain()
	s.sending++
	s.sendingTo = r
}

// endSend is called after the response was sent.
func (s *slot) endSend(r *infer.Request) {
	s.mu.Lock()
	if s.sending--; s.sending == 0 {
		s.sendingTo = nil
	}
	s.mu.Unlock()
	r.Release()
}

// trt_go_report counts a response that the backend reports and has not sent: an empty one, or one
// that it has cancelled.
//
//export trt_go_report
func trt_go_report(c *C.TRITONBACKEND_Request, t *C.TRITONBACKEND_ModelInstanceResponseStatistics) {
	s := slotOf(c)
	defer s.contain(nil)
	s.mu.Lock()
	r := s.r
	s.reports++
	unsent := s.reports > s.responses && r != nil && !s.final && s.in.model.decoupled
	if unsent {
		s.responses++
		s.beginSend(r)
	}
	s.mu.Unlock()
	if !unsent {
		return
	}
	defer s.endSend(r)
	var resp *infer.Response
	if t.failed {
		resp = infer.NewResponse()
		resp.Err = fromC(t.error_code, &t.error[0])
	}
	r.Respond(resp, false)
}

//export trt_go_release
func trt_go_release(c *C.TRITONBACKEND_Request, reschedule C.bool) (err *C.TRITONSERVER_Error) {
	s := slotOf(c)
	defer s.contain(&err)
	s.mu.Lock()
	r := s.r
	if reschedule {
		defer s.mu.Unlock()
		switch {
		case r == nil:
			return nil
		case c.call == nil:
			return give(status.New(status.Unsupported, "TRITONBACKEND_RequestRelease: a request can be rescheduled during its execution only"))
		}
		if e := r.Reschedule(); e != nil {
			return give(e)
		}
		c.kind = C.TRT_FREED
		s.again, s.released = true, true
		return nil
	}
	s.released = true
	kept := s.kept
	if s.final {
		s.gone = r != nil && r.Cancelled()
		s.r = nil
	}
	s.mu.Unlock()
	if kept && r != nil && !r.Membership.Null {
		r.LetGo()
	}
	return nil
}

//export trt_go_unused
func trt_go_unused(c *C.TRITONBACKEND_Request) {
	s := slotOf(c)
	defer s.contain(nil)
	s.unused()
}

//export trt_go_cancelled
func trt_go_cancelled(c *C.TRITONBACKEND_Request) C.bool {
	s := slotOf(c)
	defer s.contain(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return C.bool(s.gone)
	}
	return C.bool(s.r.Cancelled())
}

// nothing is the address of outputs without bytes.
var nothing = C.CString("")

//export trt_go_output
func trt_go_output(c *C.TRITONBACKEND_Request, o *C.TRITONBACKEND_Output, size C.uint64_t) (err *C.TRITONSERVER_Error) {
	s := slotOf(c)
	defer s.contain(&err)
	if size == 0 {
		o.base = unsafe.Pointer(nothing)
		return nil
	}
	name := s.in.model.outputs[o.index]
	g, ok := s.region(infer.Output{Name: name, DataType: tensor.DataType(o.datatype), Size: int(size)})
	if !ok {
		var e error
		if g, e = s.memory(name, int(size)); e != nil {
			return give(e)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o.base, o.slot = unsafe.Pointer(unsafe.SliceData(g.Bytes())), s.give(g)
	return nil
}

// region returns the memory that the client wants an output in.
func (s *slot) region(o infer.Output) (tensor.Segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return tensor.Segment{}, false
	}
	return s.r.Region(o)
}

// memory allocates memory of the pool. The API asks a backend to write all of it.
func (s *slot) memory(name string, size int) (tensor.Segment, error) {
	if size < 0 {
		return tensor.Segment{}, status.New(status.InvalidArg, "'%s' is too large", name)
	}
	b, err := s.in.model.spec.Pool.TryGet(size)
	if err != nil {
		return tensor.Segment{}, status.New(status.Internal, "no memory for '%s' of %d bytes: %w", name, size, err)
	}
	return tensor.Segment{Buffer: b, N: size}, nil
}

//export trt_go_drop
func trt_go_drop(c *C.TRITONBACKEND_Request, number C.uint32_t) {
	s := slotOf(c)
	defer s.contain(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.takeGiven(int(number)); g.Buffer != nil {
		g.Buffer.Release()
	}
}

//export trt_go_trace
func trt_go_trace(c *C.TRITONBACKEND_Request) *C.TRITONSERVER_InferenceTrace {
	s := slotOf(c)
	defer s.contain(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r != nil && s.r.Trace != nil {
		c.trace = (*C.TRITONSERVER_InferenceTrace)(inprocess.NewTrace(s.r.Trace))
	}
	c.trace_made = true
	return c.trace
}

//export trt_go_state_buffer
func trt_go_state_buffer(c *C.TRITONBACKEND_Request, st *C.TRITONBACKEND_State, size C.uint64_t) (err *C.TRITONSERVER_Error) {
	s := slotOf(c)
	defer s.contain(&err)
	var g tensor.Segment
	ok := size == 0
	if !ok {
		g, ok = s.sameBuffer(int(st.index), int(size))
	}
	if !ok {
		var e error
		if g, e = s.memory(s.in.model.states[st.index].GetOutputName(), int(size)); e != nil {
			return give(e)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.slot != 0 {
		s.takeGiven(int(st.slot)).Buffer.Release()
		st.slot = 0
	}
	if size == 0 {
		st.base = unsafe.Pointer(nothing)
		return nil
	}
	st.base, st.slot = unsafe.Pointer(unsafe.SliceData(g.Bytes())), s.give(g)
	return nil
}

// sameBuffer returns the memory of the current value of a state, if the next value takes its
// place.
func (s *slot) sameBuffer(index, size int) (tensor.Segment, bool) {
	state := s.in.model.states[index]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !state.GetUseSameBufferForInputOutput() || s.r == nil {
		return tensor.Segment{}, false
	}
	t := s.r.Input(state.GetInputName())
	if t == nil || t.Data.Len() != size || !t.Data.Stable() {
		return tensor.Segment{}, false
	}
	g := t.Data.Segment(0)
	g.Buffer.Retain()
	return g, true
}

//export trt_go_state_update
func trt_go_state_update(c *C.TRITONBACKEND_Request, st *C.TRITONBACKEND_State) (err *C.TRITONSERVER_Error) {
	s := slotOf(c)
	defer s.contain(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return give(status.New(status.InvalidArg, "TRITONBACKEND_StateUpdate: the request has ended"))
	}
	var data tensor.Data
	if st.slot != 0 {
		data = tensor.SegmentData(s.takeGiven(int(st.slot)))
		st.slot = 0
	}
	shape := tensor.Shape(unsafe.Slice((*int64)(unsafe.Pointer(st.shape)), st.dims)).Clone()
	name := s.in.model.states[st.index].GetOutputName()
	return give(backend.UpdateState(s.r, name, tensor.DataType(st.datatype), shape, data))
}

//export trt_go_set_config
func trt_go_set_config(c *C.TRITONBACKEND_Model, text *C.char, size C.size_t) (err *C.TRITONSERVER_Error) {
	m := models.find(handle(c.handle))
	defer m.contain(&err)
	return give(m.complete(C.GoBytes(unsafe.Pointer(text), C.int(size))))
}

//export trt_go_server
func trt_go_server(c *C.TRITONBACKEND_Model, server **C.TRITONSERVER_Server) (err *C.TRITONSERVER_Error) {
	m := models.find(handle(c.handle))
	defer m.contain(&err)
	*server = (*C.TRITONSERVER_Server)(m.callees())
	return nil
}

//export trt_go_memory
func trt_go_memory(c *C.TRITONBACKEND_Model, i *C.TRITONBACKEND_ModelInstance, all *C.trt_memory, count C.uint32_t) {
	var list []backend.Memory
	for _, e := range unsafe.Slice(all, count) {
		kind := [...]string{"CPU", "CPU_PINNED", "GPU"}
		if int(e._type) < len(kind) {
			list = append(list, backend.Memory{Kind: kind[e._type], ID: int64(e.id), Bytes: uint64(e.bytes)})
		}
	}
	if i != nil {
		if in := instances.find(handle(i.handle)); in != nil {
			in.mu.Lock()
			in.memory = list
			in.mu.Unlock()
		}
		return
	}
	if m := models.find(handle(c.handle)); m != nil {
		m.mu.Lock()
		m.memory = list
		m.mu.Unlock()
	}
}
