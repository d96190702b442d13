//go:build cgo && (linux || darwin)

package onnx

/*
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"os"
	"unsafe"

	"triton/pkg/onnxmodel"
	"triton/pkg/status"
)

// session is an opened model. Any number of instances may run it at the same
// time.
type session struct {
	ptr   *C.OrtSession
	graph *onnxmodel.Model // inputs, outputs and overridable initializers
	names map[string]*C.char
	// heap measures the C heap memory that the load took in addition to the arena: most of the
	// weights.
	heap *heapLoad
}

// heap measures the loads of all sessions: they share the C heap of the process.
var heap = heapMeter{read: func() uint64 { return uint64(C.trt_ort_heap()) }}

func fileBytes(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

// openSession loads the model file.
func openSession(path string, o *options, t threads, globalPool bool) (*session, error) {
	opts, err := sessionOptions(o, t, globalPool)
	if err != nil {
		return nil, err
	}
	defer C.trt_ort_options_free(opts)
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	s := &session{names: map[string]*C.char{}, heap: heap.begin(fileBytes(path))}
	if o.quiet() {
		err = check(C.trt_ort_session_open_quietly(file, opts, &s.ptr))
	} else {
		err = check(C.trt_ort_session_open(file, opts, &s.ptr))
	}
	if err != nil {
		s.heap.end(0, true)
		return nil, err
	}
	arena, _ := s.arena() // 0 if it is not known
	s.heap.end(arena, false)
	C.trt_ort_trim()
	if err := s.describe(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func sessionOptions(o *options, t threads, globalPool bool) (*C.OrtSessionOptions, error) {
	var opts *C.OrtSessionOptions
	if err := check(C.trt_ort_options_new(&opts)); err != nil {
		return nil, err
	}
	err := setOptions(opts, o, t, globalPool)
	if err != nil {
		C.trt_ort_options_free(opts)
		return nil, err
	}
	return opts, nil
}

func setOptions(opts *C.OrtSessionOptions, o *options, t threads, globalPool bool) error {
	steps := []C.trt_ort_error{
		C.trt_ort_options_level(opts, C.int32_t(o.level)),
		C.trt_ort_options_mode(opts, C.int32_t(o.mode)),
	}
	if globalPool {
		steps = append(steps, C.trt_ort_options_global_pool(opts))
	} else {
		steps = append(steps, C.trt_ort_options_threads(opts, C.int32_t(t.intra), C.int32_t(t.inter)))
		if !t.spin {
			steps = append(steps, entry(opts, pair{spinEntry, "0"}))
		}
	}
	if o.arena != nil {
		steps = append(steps, C.trt_ort_options_arena(opts, toggle(*o.arena)))
	}
	if o.pattern != nil {
		steps = append(steps, C.trt_ort_options_pattern(opts, toggle(*o.pattern)))
	}
	for _, e := range o.entries {
		steps = append(steps, entry(opts, e))
	}
	for _, path := range o.libraries {
		name := C.CString(path)
		steps = append(steps, C.trt_ort_options_library(opts, name))
		C.free(unsafe.Pointer(name))
	}
	if o.cuda != nil {
		steps = append(steps, cuda(opts, o.cuda))
	}
	return firstError(steps)
}

// firstError returns the first error of the steps and frees the texts of the others.
func firstError(steps []C.trt_ort_error) (first error) {
	for _, e := range steps {
		if err := check(e); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func toggle(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

func entry(opts *C.OrtSessionOptions, e pair) C.trt_ort_error {
	key, value := C.CString(e.key), C.CString(e.value)
	defer C.free(unsafe.Pointer(key))
	defer C.free(unsafe.Pointer(value))
	return C.trt_ort_options_entry(opts, key, value)
}

func cuda(opts *C.OrtSessionOptions, pairs []pair) C.trt_ort_error {
	n := len(pairs)
	mem := C.calloc(C.size_t(2*n), C.size_t(unsafe.Sizeof((*C.char)(nil))))
	defer C.free(mem)
	text := unsafe.Slice((**C.char)(mem), 2*n)
	for i, p := range pairs {
		text[i], text[n+i] = C.CString(p.key), C.CString(p.value)
	}
	e := C.trt_ort_options_cuda(opts, &text[0], &text[n], C.size_t(n))
	for _, t := range text {
		C.free(unsafe.Pointer(t))
	}
	return e
}

// describe reads the graph's signature from the session itself, so that no second
// session is opened for it.
func (s *session) describe() error {
	s.graph = &onnxmodel.Model{Inferred: true}
	for _, part := range []struct {
		which C.int32_t
		list  *[]onnxmodel.Value
	}{
		{C.TRT_ORT_INPUT, &s.graph.Inputs},
		{C.TRT_ORT_OUTPUT, &s.graph.Outputs},
		{C.TRT_ORT_INITIALIZER, &s.graph.Overridable},
	} {
		var n C.size_t
		if err := check(C.trt_ort_session_count(s.ptr, part.which, &n)); err != nil {
			return err
		}
		for i := range n {
			v, err := s.value(part.which, i)
			if err != nil {
				return err
			}
			*part.list = append(*part.list, v)
		}
	}
	return nil
}

// valueKinds translates ONNXType.
var valueKinds = [...]onnxmodel.Kind{
	onnxmodel.KindUnknown, onnxmodel.KindTensor, onnxmodel.KindSequence, onnxmodel.KindMap,
	onnxmodel.KindOpaque, onnxmodel.KindSparseTensor, onnxmodel.KindOptional,
}

func (s *session) value(which C.int32_t, i C.size_t) (onnxmodel.Value, error) {
	var info C.trt_ort_info
	err := check(C.trt_ort_session_info(s.ptr, which, i, &info))
	v := onnxmodel.Value{Name: C.GoString(info.name), Kind: valueKinds[0]}
	rank := int(min(info.rank, C.TRT_ORT_MAX_RANK))
	for k := range rank {
		v.Dims = append(v.Dims, int64(info.dims[k]))
		v.Symbols = append(v.Symbols, C.GoString(info.symbols[k]))
		C.free(unsafe.Pointer(info.symbols[k]))
	}
	C.free(unsafe.Pointer(info.name))
	if err != nil {
		return v, err
	}
	if info.rank > C.TRT_ORT_MAX_RANK {
		return v, status.New(status.Unsupported, "tensor '%s' has %d dimensions; at most %d are supported", v.Name, int(info.rank), C.TRT_ORT_MAX_RANK)
	}
	if k := int(info.kind); k < len(valueKinds) {
		v.Kind = valueKinds[k]
	}
	v.Elem, v.Ranked = elemType(info._type), info.ranked != 0
	if s.names[v.Name] == nil {
		s.names[v.Name] = C.CString(v.Name)
	}
	return v, nil
}

// elemType translates ONNXTensorElementDataType, whose numbers are those of the file
// format except for the last ones.
func elemType(t C.int32_t) onnxmodel.ElemType {
	const lastCommon, float8e8m0 = 23, 26
	switch {
	case t == float8e8m0:
		return 24
	case t > lastCommon:
		t++
	}
	return onnxmodel.ElemType(t)
}

// memory returns the session's CPU memory in bytes; 0 if it is not known.
func (s *session) memory() uint64 {
	arena, err := s.arena()
	if err != nil {
		return 0
	}
	return s.heap.bytes() + arena
}

// arena returns the size of the session's CPU arena in bytes, as ONNX Runtime reports
// it.
func (s *session) arena() (uint64, error) {
	var inUse, total C.uint64_t
	err := check(C.trt_ort_session_memory(s.ptr, &inUse, &total))
	return uint64(max(inUse, total)), err
}

func (s *session) close() {
	C.trt_ort_session_free(s.ptr)
	for _, name := range s.names {
		C.free(unsafe.Pointer(name))
	}
	s.ptr, s.names = nil, nil
}
