//go:build cgo && linux

package native

/*
#include "openvino.h"
*/
import "C"

import (
	"unsafe"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// openVINORun is what an instance runs its batches with, in C memory.
type openVINORun struct {
	model   *openVINOModel
	ptr     *C.trt_ov_call
	in, out []C.trt_ov_tensor
	results []result
	text    [][]byte // of outputs of strings
}

var _ runner = (*openVINORun)(nil)

func newOpenVINORun(m *openVINOModel) (*openVINORun, error) {
	n, k := len(m.inputs), len(m.outputs)
	r := &openVINORun{model: m, ptr: C.trt_ov_call_new(C.int32_t(n), C.int32_t(k)), results: make([]result, k), text: make([][]byte, k)}
	if r.ptr == nil {
		return nil, status.New(status.Internal, "no memory for an instance")
	}
	all := unsafe.Slice(r.ptr.tensor, n+k)
	r.in, r.out = all[:n:n], all[n:]
	for i, at := range m.inputs {
		r.in[i].port, r.in[i]._type = C.int32_t(at), openVINONumber(m.sig.Inputs[i].DataType)
	}
	for i, at := range m.outputs {
		r.out[i].port = C.int32_t(at)
	}
	if C.trt_ov_request(m.compiled.ptr, r.ptr) != 0 {
		err := openVINOFailure("cannot make a request", &r.ptr.error)
		r.Close()
		return nil, err
	}
	return r, nil
}

// openVINONumber returns OpenVINO's number of a type.
func openVINONumber(t tensor.DataType) C.int32_t {
	for n, d := range openVINOTypes {
		if d == t {
			return C.int32_t(n)
		}
	}
	return 0
}

// Run runs a batch in one cgo call. Inputs are read in place.
func (r *openVINORun) Run(_ int, inputs []backend.Gathered, wanted []bool) ([]result, error) {
	for i := range r.in {
		if !inputs[i].Present {
			return nil, status.New(status.InvalidArg, "input '%s' is missing: OpenVINO has no optional inputs", r.model.sig.Inputs[i].Name)
		}
		if err := setInput(&r.in[i], &inputs[i]); err != nil {
			return nil, err
		}
	}
	for i := range r.out {
		r.out[i].use = 0
		if wanted[i] {
			r.out[i].use = 1
		}
	}
	if C.trt_ov_run(r.ptr) != 0 {
		return nil, r.fail()
	}
	for i := range r.out {
		if wanted[i] {
			if err := r.read(i); err != nil {
				return nil, err
			}
		}
	}
	return r.results, nil
}

func setInput(t *C.trt_ov_tensor, g *backend.Gathered) error {
	if len(g.Shape) > C.TRT_OV_MAX_RANK {
		return status.New(status.InvalidArg, "shape %v has more than %d dimensions", g.Shape, C.TRT_OV_MAX_RANK)
	}
	n, err := g.Shape.Elements()
	if err != nil {
		return err
	}
	t.data, t.bytes, t.elements = unsafe.Pointer(unsafe.SliceData(g.Bytes)), C.uint64_t(len(g.Bytes)), C.uint64_t(n)
	t.rank = C.int32_t(len(g.Shape))
	for d, n := range g.Shape {
		t.dims[d] = C.int64_t(n)
	}
	return nil
}

// read makes the result of an output of the run.
func (r *openVINORun) read(i int) error {
	t, v := &r.out[i], &r.model.sig.Outputs[i]
	if openVINOTypes[int(t._type)] != v.DataType {
		return status.New(status.Internal, "output '%s' is of type %s, the configuration expects %s", v.Name, openVINOTypes[int(t._type)].ConfigName(), v.DataType.ConfigName())
	}
	res := &r.results[i]
	res.Shape = res.Shape[:0]
	for d := range int(t.rank) {
		res.Shape = append(res.Shape, int64(t.dims[d]))
	}
	if v.DataType != tensor.Bytes {
		res.Bytes = unsafe.Slice((*byte)(t.data), int(t.bytes))
		return nil
	}
	if uint64(cap(r.text[i])) < uint64(t.bytes) {
		r.text[i] = make([]byte, t.bytes)
	}
	res.Bytes = r.text[i][:t.bytes]
	if len(res.Bytes) > 0 {
		C.trt_ov_strings(t, (*C.uint8_t)(unsafe.SliceData(res.Bytes)))
	}
	return nil
}

// fail returns the error of the last run.
func (r *openVINORun) fail() error {
	e := &r.ptr.error
	if int(e.tensor) < 0 || int(e.tensor) >= len(r.in) {
		return openVINOFailure("cannot run the model", e)
	}
	t, name := &r.in[e.tensor], r.model.sig.Inputs[e.tensor].Name
	switch e.code {
	case C.TRT_OV_STRING_LENGTH:
		return status.New(status.InvalidArg,
			"incomplete string length indicator for inference input '%s' for model '%s', expecting 4 bytes but only %d bytes available. Please make sure the string length indicator is in one buffer.",
			name, r.model.spec.Name, int(t.bytes)%4)
	case C.TRT_OV_STRING_DATA:
		return status.New(status.InvalidArg, "incomplete string data for inference input '%s'", name)
	case C.TRT_OV_STRING_COUNT:
		return status.New(status.InvalidArg, "expected %d strings for inference input '%s'", int(t.elements), name)
	case C.TRT_OV_STRING_NUL:
		return status.New(status.InvalidArg, "a string of input '%s' has a byte 0, which OpenVINO cannot take", name)
	}
	return openVINOFailure("cannot take input '"+name+"'", e)
}

// Stop cancels a run that is under way.
func (r *openVINORun) Stop() { C.trt_ov_stop(r.ptr) }

// Close frees the memory of the runs.
func (r *openVINORun) Close() {
	C.trt_ov_call_free(r.ptr)
	r.ptr, r.in, r.out = nil, nil, nil
}
