//go:build cgo && (linux || darwin)

package onnx

/*
#cgo CFLAGS: -O2 -Wall
#cgo linux LDFLAGS: -ldl
#cgo noescape trt_ort_run
#cgo nocallback trt_ort_run
#cgo noescape trt_ort_run_bare
#cgo nocallback trt_ort_run_bare
#cgo noescape trt_ort_strings
#cgo nocallback trt_ort_strings
#cgo nocallback trt_ort_value_free
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"triton/pkg/status"
	"triton/server/backend"
)

// Providers by ONNX Runtime's names.
const cudaProvider = "CUDAExecutionProvider"

// process holds the ONNX Runtime libraries of the process. It is global because they are:
// each has one environment and one set of functions, and is never unloaded.
var process struct {
	sync.Mutex
	libraries map[string]*library // by path without symbolic links
	first     *library            // the first one that neither a model nor a setting names
	sharing   *library            // the one that has opened libraries of execution providers
}

// library is an opened library.
type library struct {
	c             *C.trt_ort_library
	path, version string
	providers     []string
	ready         bool // it has an environment
	globalPool    bool
	sharedArena   bool
}

// HasGPU reports whether the library can run models on a GPU. It is false if there is
// no library.
func (b *Backend) HasGPU() bool {
	process.Lock()
	defer process.Unlock()
	lib, err := b.open(namedPath{})
	return err == nil && slices.Contains(lib.providers, cudaProvider)
}

// open returns the library that is named, or the one that is found if none is. Each is opened
// once per process. The caller holds process.Mutex.
func (b *Backend) open(named namedPath) (*library, error) {
	if named.path == "" && b.search.Explicit == "" && process.first != nil {
		return process.first, nil
	}
	found, err := b.find(named)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return nil, status.New(status.Unavailable, "unable to load shared library: %w", err)
	}
	lib := process.libraries[real]
	if lib == nil {
		if lib, err = openLibrary(found); err != nil {
			return nil, err
		}
		if process.libraries == nil {
			process.libraries = map[string]*library{}
		}
		process.libraries[real] = lib
	}
	if named.path == "" && process.first == nil {
		process.first = lib
	}
	return lib, nil
}

func (b *Backend) find(named namedPath) (string, error) {
	if named.path != "" {
		return namedLibrary(named.path, named.by)
	}
	return Find(b.search)
}

func openLibrary(path string) (*library, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var v *C.char
	lib := &library{path: path}
	e := C.trt_ort_open(name, &lib.c, &v)
	lib.version = C.GoString(v)
	C.free(unsafe.Pointer(v))
	switch e.code {
	case C.TRT_ORT_NO_LIBRARY, C.TRT_ORT_NO_SYMBOL:
		return nil, status.New(status.Unavailable, "unable to load shared library: %s", message(e))
	case C.TRT_ORT_TOO_OLD:
		return nil, status.New(status.Unavailable, "the ONNX Runtime library '%s' is version %s; 1.%d or newer is needed",
			path, lib.version, C.TRT_ORT_API_OLDEST)
	}
	if err := check(e); err != nil {
		return nil, err
	}
	return lib, lib.listProviders()
}

func (l *library) listProviders() error {
	var names **C.char
	var n C.int32_t
	if err := check(C.trt_ort_providers(l.c, &names, &n)); err != nil {
		return err
	}
	defer C.trt_ort_providers_free(l.c, names, n)
	for _, name := range unsafe.Slice(names, int(n)) {
		l.providers = append(l.providers, C.GoString(name))
	}
	return nil
}

// library opens the library of a model and creates its environment if needed.
func (b *Backend) library(spec backend.Spec) (*library, error) {
	named, err := libraryOf(spec)
	if err != nil {
		return nil, err
	}
	process.Lock()
	defer process.Unlock()
	lib, err := b.open(named)
	if err != nil {
		return nil, err
	}
	return lib, lib.environment(spec.Log, spec.Settings)
}

// check converts an error of the C layer to a client-visible error.

func check(e C.trt_ort_error) error {
	if e.code == 0 {
		return nil
	}
	return status.New(status.Internal, "onnx runtime error %d: %s", int(e.code), message(e))
}

// message returns the text of e and frees it.
func message(e C.trt_ort_error) string {
	defer C.free(unsafe.Pointer(e.message))
	return C.GoString(e.message)
}
