//go:build cgo && linux

package plugin

// #include "host.h"
import "C"

import (
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// response makes the response that a backend has built. It moves the memory of the outputs.
// The caller holds the lock.
func (s *slot) response(c *C.TRITONBACKEND_Response) *infer.Response {
	resp := infer.NewResponse()
	if c.output_begin != 0 {
		resp.OutputStart = int64(c.output_begin) - epoch
	}
	if c.failed {
		resp.Err = fromC(c.error_code, c.error)
		return resp
	}
	for p := c.first_parameter; p != nil; p = p.next {
		resp.Parameters = append(resp.Parameters, s.in.parameter(p))
	}
	for o := c.first; o != nil; o = o.next {
		if err := s.addOutput(resp, o); err != nil {
			resp.Err = err
			break
		}
	}
	s.in.expected.Store(int64(min(s.outBytes, maxExpected)))
	return resp
}

func (in *instance) parameter(p *C.trt_reply_parameter) kserve.Parameter {
	q := kserve.Parameter{Name: in.texts.of(p.name)}
	switch p._type {
	case C.TRITONSERVER_PARAMETER_STRING:
		q.Kind, q.String = kserve.ParamString, in.texts.of(p.text)
	case C.TRITONSERVER_PARAMETER_BOOL:
		q.Kind, q.Bool = kserve.ParamBool, p.number != 0
	case C.TRITONSERVER_PARAMETER_DOUBLE:
		q.Kind, q.Double = kserve.ParamDouble, float64(p.real)
	default:
		q.Kind, q.Int = kserve.ParamInt, int64(p.number)
	}
	return q
}

// addOutput adds an output that the client wants.
func (s *slot) addOutput(resp *infer.Response, o *C.TRITONBACKEND_Output) error {
	m := s.in.model
	v := &m.sig.Outputs[o.index]
	if o.datatype == C.TRITONSERVER_TYPE_INVALID || o.datatype > C.TRITONSERVER_TYPE_BF16 {
		return status.New(status.Internal, "output '%s' has no valid data type", v.Name)
	}
	size, d := int(o.size), tensor.DataType(o.datatype)
	shape := tensor.Shape(unsafe.Slice((*int64)(unsafe.Pointer(o.shape)), o.dims))
	s.outBytes += (size + alignment - 1) &^ (alignment - 1)
	want, err := shape.ByteSize(d)
	if err != nil {
		return status.New(status.Internal, "output '%s' has an invalid shape %s: %w", v.Name, shape, err)
	}
	if d != tensor.Bytes && want != int64(size) {
		return status.New(status.Internal, "output '%s' of shape %s has %d bytes, expecting %d", v.Name, shape, size, want)
	}
	if s.r == nil || !s.r.Wants(v.Name) {
		return nil
	}
	if v.Reshape != nil {
		lead := 0
		if m.sig.Batching {
			lead = min(1, len(shape))
		}
		s.shape = append(s.shape[:0], shape[:lead]...)
		s.shape = tensor.AppendReshaped(s.shape, shape[lead:], v.Reshape, v.Dims)
		shape = s.shape
	}
	var data tensor.Data
	switch {
	case o.slot != 0:
		data = tensor.SegmentData(s.takeGiven(int(o.slot)))
		o.slot = 0
	case size > 0:
		at := uintptr(o.base) - uintptr(unsafe.Pointer(s.c.memory))
		data = tensor.SliceData(s.out, int(at), size)
	}
	resp.Add(v.Name, d, shape, data)
	return nil
}

// alignment is that of outputs in the memory of a request.
const alignment = 64

// takeGiven takes memory that was given to the backend.
func (s *slot) takeGiven(number int) tensor.Segment {
	g := s.given[number-1]
	s.given[number-1] = tensor.Segment{}
	return g
}

// give notes memory that the backend gets and returns its number.
func (s *slot) give(g tensor.Segment) C.uint32_t {
	for i := range s.given {
		if s.given[i].Buffer == nil {
			s.given[i] = g
			return C.uint32_t(i + 1)
		}
	}
	s.given = append(s.given, g)
	return C.uint32_t(len(s.given))
}
