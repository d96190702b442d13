//go:build cgo && (linux || darwin)

package onnx

/*
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"triton/pkg/onnxmodel"
	"triton/pkg/status"
)

// session is an opened model. Any number of instances may run it at the same
// time.
type session struct {
	lib   *library
	ptr   *C.OrtSession
	graph *onnxmodel.Model // inputs, outputs and overridable initializers
	names map[string]*C.char
	// heap measures the C heap memory that the load took in addition to the arena: most of the
	// weights.
	heap    *heapLoad
	profile func(file string) // is called with the name of the profile when it is complete; nil: none
}

// heap measures the loads of all sessions: they share the C heap of the process.
var heap = heapMeter{read: func() uint64 { return uint64(C.trt_ort_heap()) }}

// checksExternal is the first level of a library that checks the paths of external data.
const checksExternal = 24

// opening is what a session is opened with.
type opening struct {
	lib     *library
	path    string
	data    []byte // the content of the file, if it is not to be read from path
	options *options
	threads threads
	write   string // where to write the optimized model; empty: nowhere
	profile string // prefix of the name of the profile; empty: none is written
}

func (o *opening) bytes() uint64 {
	if o.data != nil {
		return uint64(len(o.data))
	}
	info, err := os.Stat(o.path)
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

// openSession loads the model.
func openSession(o *opening) (*session, error) {
	if o.lib.c.level < checksExternal {
		if err := checkExternal(o.path, o.data); err != nil {
			return nil, err
		}
	}
	opts, err := sessionOptions(o)
	if err != nil {
		return nil, err
	}
	defer C.trt_ort_options_free(o.lib.c, opts)
	s := &session{lib: o.lib, names: map[string]*C.char{}, heap: heap.begin(o.bytes())}
	if err := s.create(o, opts); err != nil {
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

// create makes the session. Sessions with execution providers are made one at a time: not all
// providers can make several at once.
func (s *session) create(o *opening, opts *C.OrtSessionOptions) error {
	file := C.CString(o.path)
	defer C.free(unsafe.Pointer(file))
	var pin runtime.Pinner
	defer pin.Unpin()
	from := C.trt_ort_source{path: file}
	if o.data != nil {
		first := unsafe.SliceData(o.data)
		pin.Pin(first)
		from.data, from.bytes = unsafe.Pointer(first), C.size_t(len(o.data))
	}
	if len(o.options.providers) > 0 {
		creating.Lock()
		defer creating.Unlock()
	}
	if o.options.quiet() {
		return check(C.trt_ort_session_open_quietly(o.lib.c, &from, opts, &s.ptr))
	}
	return check(C.trt_ort_session_open(o.lib.c, &from, opts, &s.ptr))
}

var creating sync.Mutex

func sessionOptions(o *opening) (*C.OrtSessionOptions, error) {
	var opts *C.OrtSessionOptions
	if err := check(C.trt_ort_options_new(o.lib.c, &opts)); err != nil {
		return nil, err
	}
	err := o.setOptions(opts)
	if err != nil {
		C.trt_ort_options_free(o.lib.c, opts)
		return nil, err
	}
	return opts, nil
}

func (o *opening) setOptions(opts *C.OrtSessionOptions) error {
	lib := o.lib.c
	steps := []C.trt_ort_error{
		C.trt_ort_options_level(lib, opts, C.int32_t(o.options.level)),
		C.trt_ort_options_mode(lib, opts, C.int32_t(o.options.mode)),
	}
	if o.lib.globalPool {
		steps = append(steps, C.trt_ort_options_global_pool(lib, opts))
	} else {
		steps = append(steps, C.trt_ort_options_threads(lib, opts, C.int32_t(o.threads.intra), C.int32_t(o.threads.inter)))
	}
	if o.options.arena != nil {
		steps = append(steps, C.trt_ort_options_arena(lib, opts, toggle(*o.options.arena)))
	}
	if o.options.pattern != nil {
		steps = append(steps, C.trt_ort_options_pattern(lib, opts, toggle(*o.options.pattern)))
	}
	for _, e := range o.entries() {
		steps = append(steps, o.lib.entry(opts, e))
	}
	for _, path := range o.options.libraries {
		steps = append(steps, withString(path, func(name *C.char) C.trt_ort_error { return C.trt_ort_options_library(lib, opts, name) }))
	}
	if o.write != "" {
		steps = append(steps, withString(o.write, func(name *C.char) C.trt_ort_error { return C.trt_ort_options_optimized(lib, opts, name) }))
	}
	if o.profile != "" {
		steps = append(steps, withString(o.profile, func(name *C.char) C.trt_ort_error { return C.trt_ort_options_profile(lib, opts, name) }))
	}
	if err := firstError(steps); err != nil {
		return err
	}
	for _, p := range o.options.providers {
		if err := o.lib.appendProvider(opts, p); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the configuration entries of the session. Those of the model win.
func (o *opening) entries() []pair {
	var list []pair
	if !o.lib.globalPool && !o.threads.spin {
		list = append(list, pair{spinEntry, "0"})
	}
	if o.lib.sharedArena {
		list = append(list, pair{"session.use_env_allocators", "1"})
	}
	if o.data != nil {
		list = append(list, pair{"session.model_external_initializers_file_folder_path", filepath.Dir(o.path)})
	}
	if o.write != "" {
		list = append(list, pair{"session.optimized_model_external_initializers_file_name", filepath.Base(o.write) + ".data"},
			// Weights in the form that kernels read: sessions map them instead of copying them.
			pair{"session.save_external_prepacked_constant_initializers", "1"})
	}
	list = slices.DeleteFunc(list, func(ours pair) bool {
		return slices.ContainsFunc(o.options.entries, func(e pair) bool { return e.key == ours.key })
	})
	return append(list, o.options.entries...)
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

func withString(text string, do func(*C.char) C.trt_ort_error) C.trt_ort_error {
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	return do(s)
}

func (l *library) entry(opts *C.OrtSessionOptions, e pair) C.trt_ort_error {
	key, value := C.CString(e.key), C.CString(e.value)
	defer C.free(unsafe.Pointer(key))
	defer C.free(unsafe.Pointer(value))
	return C.trt_ort_options_entry(l.c, opts, key, value)
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
		if err := check(C.trt_ort_session_count(s.lib.c, s.ptr, part.which, &n)); err != nil {
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
	err := check(C.trt_ort_session_info(s.lib.c, s.ptr, which, i, &info))
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
// it. An arena that all sessions share counts for none.
func (s *session) arena() (uint64, error) {
	if s.lib.sharedArena {
		return 0, nil
	}
	var inUse, total C.uint64_t
	err := check(C.trt_ort_session_memory(s.lib.c, s.ptr, &inUse, &total))
	return uint64(max(inUse, total)), err
}

// close closes the session and completes its profile.
func (s *session) close() {
	if s.profile != nil {
		s.endProfile()
	}
	C.trt_ort_session_free(s.lib.c, s.ptr)
	for _, name := range s.names {
		C.free(unsafe.Pointer(name))
	}
	s.ptr, s.names = nil, nil
}
