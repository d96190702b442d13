//go:build cgo && linux

package plugin

// #include <stdlib.h>
// #include "host.h"
import "C"

import (
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// pinFrom is the size in bytes from which input memory of the Go heap is pinned and not
// copied.
const pinFrom = 16 << 10

// fill makes a slot the request r of an execution.
func (in *instance) fill(s *slot, r *infer.Request) error {
	s.in, s.r = in, r
	s.kept, s.released, s.final, s.again, s.begun, s.gone, s.outBytes = false, false, false, false, false, false, 0
	s.responses, s.reports = 0, 0
	in.model.began()

	c := s.c
	s.used = unsafe.Sizeof(*c)
	handle := c.handle
	*(*requestHead)(unsafe.Pointer(c)) = requestHead{}
	c.kind, c.handle, c.instance, c.call = C.TRT_REQUEST, handle, in.c, in.c
	c.refs = 2 // the request and the execution
	c.id = s.text(r.ID)
	switch {
	case r.Membership.Null:
		c.correlation = 0
	case r.SequenceIDStr != "":
		c.correlation_text = s.text(r.SequenceIDStr)
	default:
		c.correlation = C.uint64_t(r.SequenceID)
	}
	if r.SequenceStart {
		c.flags |= C.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START
	}
	if r.SequenceEnd {
		c.flags |= C.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
	}
	c.timeout = C.uint64_t(r.TimeoutMicros)
	s.fillInputs(r)
	s.fillOutputs(r)
	s.fillParameters(r)
	return in.giveMemory(s)
}

// requestHead is a request without the room for the content of its response.
type requestHead [unsafe.Offsetof(C.TRITONBACKEND_Request{}.embedded)]byte

func (s *slot) fillInputs(r *infer.Request) {
	extras := r.Extras()
	all := list[C.TRITONBACKEND_Input](s, len(r.Inputs)+len(extras))
	for i := range r.Inputs {
		s.fillInput(&all[i], i, &r.Inputs[i])
	}
	for i := range extras {
		s.fillInput(&all[len(r.Inputs)+i], -1, &extras[i])
	}
	s.c.inputs, s.c.input_count = unsafe.SliceData(all), C.uint32_t(len(all))
	if r.Membership.Null { // the core releases it after the execution
		for i := range r.Inputs {
			s.inputs = append(s.inputs, r.Inputs[i].Data.Clone())
		}
		for i := range extras {
			s.inputs = append(s.inputs, extras[i].Data.Clone())
		}
	}
}

// fillInput describes a tensor, which is most likely input i of the configuration.
func (s *slot) fillInput(c *C.TRITONBACKEND_Input, i int, t *kserve.Tensor) {
	m := s.in.model
	v, name := m.input(i, t.Name)
	if name == nil {
		name = s.text(t.Name)
	}
	shape := t.Shape
	if v != nil && v.Reshape != nil {
		lead := 0
		if m.sig.Batching {
			lead = min(1, len(shape))
		}
		s.shape = append(s.shape[:0], shape[:lead]...)
		s.shape = tensor.AppendReshaped(s.shape, shape[lead:], v.Dims, v.Reshape)
		shape = s.shape
	}
	dims := list[int64](s, len(shape))
	copy(dims, shape)
	buffers := list[C.trt_buffer](s, max(t.Data.Segments(), 1))
	buffers[0] = C.trt_buffer{}
	n := 0
	for k := range t.Data.Segments() {
		if part := t.Data.Segment(k); part.N > 0 {
			buffers[n] = C.trt_buffer{base: s.stable(part), size: C.uint64_t(part.N)}
			n++
		}
	}
	*c = C.TRITONBACKEND_Input{
		kind: C.TRT_INPUT, datatype: C.TRITONSERVER_DataType(t.DataType), name: name, request: s.c,
		shape: (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(dims))), dims: C.uint32_t(len(dims)),
		size: C.uint64_t(t.Data.Len()), buffers: unsafe.SliceData(buffers), buffer_count: C.uint32_t(n),
	}
}

// stable returns an address of the bytes that holds until the slot is idle.
func (s *slot) stable(part tensor.Segment) unsafe.Pointer {
	b := part.Bytes()
	switch {
	case part.Buffer.Stable():
	case len(b) >= pinFrom:
		s.pins.Pin(unsafe.SliceData(b))
	default:
		c := list[byte](s, len(b))
		copy(c, b)
		s.in.model.spec.Pool.CopiedToModel(len(b))
		b = c
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}

func (s *slot) fillOutputs(r *infer.Request) {
	m := s.in.model
	if len(r.Outputs) == 0 {
		s.c.outputs, s.c.output_count = unsafe.SliceData(m.all), C.uint32_t(len(m.all))
		return
	}
	all := list[C.trt_wanted](s, len(r.Outputs))
	for i := range r.Outputs {
		o := &r.Outputs[i]
		name := m.outputName(o.Name)
		if name == nil {
			name = s.text(o.Name)
		}
		all[i] = C.trt_wanted{name: name, placed: C.bool(o.Into.Buffer != nil)}
	}
	s.c.outputs, s.c.output_count = unsafe.SliceData(all), C.uint32_t(len(all))
}

func (s *slot) fillParameters(r *infer.Request) {
	all := list[C.trt_parameter](s, len(r.Parameters))
	for i := range r.Parameters {
		p := &r.Parameters[i]
		c := C.trt_parameter{key: s.text(p.Name)}
		switch p.Kind {
		case kserve.ParamString:
			c._type, c.value = C.TRITONSERVER_PARAMETER_STRING, unsafe.Pointer(s.text(p.String))
		case kserve.ParamBool:
			v := list[bool](s, 1)
			v[0] = p.Bool
			c._type, c.value = C.TRITONSERVER_PARAMETER_BOOL, unsafe.Pointer(&v[0])
		case kserve.ParamDouble:
			v := list[float64](s, 1)
			v[0] = p.Double
			c._type, c.value = C.TRITONSERVER_PARAMETER_DOUBLE, unsafe.Pointer(&v[0])
		default:
			v := list[int64](s, 1)
			v[0] = p.Int
			if p.Kind == kserve.ParamUint {
				v[0] = int64(p.Uint)
			}
			c._type, c.value = C.TRITONSERVER_PARAMETER_INT, unsafe.Pointer(&v[0])
		}
		all[i] = c
	}
	s.c.parameters, s.c.parameter_count = unsafe.SliceData(all), C.uint32_t(len(all))
}

// maxExpected bounds the memory for outputs that a request gets in advance.
const maxExpected = 64 << 10

// giveMemory gives the request as much memory for outputs as the last one has used, so that
// the backend gets it without a call into Go.
func (in *instance) giveMemory(s *slot) error {
	n := int(in.expected.Load())
	if n == 0 {
		return nil
	}
	b, err := in.model.spec.Pool.TryGet(n)
	if err != nil {
		return status.New(status.Internal, "no memory for outputs of %d bytes: %w", n, err)
	}
	s.out = b
	s.c.memory, s.c.memory_size = (*C.char)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), C.uint64_t(n)
	return nil
}
