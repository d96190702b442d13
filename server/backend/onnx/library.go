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
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
)

// Providers by ONNX Runtime's names.
const cudaProvider = "CUDAExecutionProvider"

// process holds the one ONNX Runtime of the process. It is global because the library
// is: one environment, one set of functions, never unloaded.
var process struct {
	sync.Mutex
	library
	opened, ready bool
}

// library describes the opened library.
type library struct {
	path, version string
	providers     []string
	globalPool    bool
}

// HasGPU reports whether the library can run models on a GPU. It is false if there is
// no library.
func (b *Backend) HasGPU() bool {
	process.Lock()
	defer process.Unlock()
	return b.open(nil) == nil && slices.Contains(process.providers, cudaProvider)
}

// open opens the library once per process. The caller holds process.Mutex.
func (b *Backend) open(settings map[string]string) error {
	search := b.search
	if path := settings["library"]; path != "" {
		search.Explicit = path
	}
	if process.opened && search.Explicit == "" {
		return nil
	}
	path, err := Find(search)
	if err != nil {
		return err
	}
	if process.opened {
		if path != process.path {
			return status.New(status.Unavailable, "the ONNX Runtime library '%s' cannot be used: the process has opened '%s' already", path, process.path)
		}
		return nil
	}
	version, err := openLibrary(path)
	if err != nil {
		return err
	}
	process.path, process.version, process.opened = path, version, true
	process.providers, err = providers()
	return err
}

func openLibrary(path string) (string, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var v *C.char
	e := C.trt_ort_open(name, &v)
	version := C.GoString(v)
	C.free(unsafe.Pointer(v))
	switch e.code {
	case C.TRT_ORT_NO_LIBRARY, C.TRT_ORT_NO_SYMBOL:
		return "", status.New(status.Unavailable, "unable to load shared library: %s", message(e))
	case C.TRT_ORT_TOO_OLD:
		return "", status.New(status.Unavailable, "the ONNX Runtime library '%s' is version %s; 1.%d or newer is needed",
			path, version, C.TRT_ORT_API_VERSION)
	}
	return version, check(e)
}

// environment creates the environment of the process once. The first settings and log
// level win, because ONNX Runtime has only one environment. The caller holds
// process.Mutex.
func environment(ctx context.Context, log *slog.Logger, settings map[string]string) error {
	if process.ready {
		return nil
	}
	level, option := logLevel(ctx, log)
	pool, err := poolSettings(settings)
	if err != nil {
		return err
	}
	if pool.global {
		// An environment with global pools has to come before the binding's.
		if err := check(C.trt_ort_env(level, 1, C.int32_t(pool.intra), C.int32_t(pool.inter))); err != nil {
			return err
		}
	}
	if !ort.IsInitialized() {
		ort.SetSharedLibraryPath(process.path)
		if err := ort.InitializeEnvironment(option); err != nil {
			return status.New(status.Internal, "onnx runtime: %w", err)
		}
	}
	if err := check(C.trt_ort_env(level, 0, 0, 0)); err != nil {
		return err
	}
	process.globalPool, process.ready = pool.global, true
	log.Info("ONNX Runtime is open", "version", process.version, "library", process.path,
		"providers", strings.Join(process.providers, ","))
	return nil
}

// logLevel returns ONNX Runtime's level for the level of our logger.
func logLevel(ctx context.Context, log *slog.Logger) (C.int32_t, ort.EnvironmentOption) {
	switch {
	case log.Enabled(ctx, slog.LevelDebug):
		return 0, ort.WithLogLevelVerbose()
	case log.Enabled(ctx, slog.LevelWarn):
		return 2, ort.WithLogLevelWarning()
	}
	return 3, ort.WithLogLevelError()
}

type poolConfig struct {
	global       bool
	intra, inter int
}

// poolSettings reads the backend settings of the process-wide thread pools.
func poolSettings(settings map[string]string) (p poolConfig, err error) {
	if v, ok := settings["enable-global-threadpool"]; ok {
		if p.global, err = requirement.Bool(v); err != nil {
			return p, err
		}
	}
	for key, to := range map[string]*int{"intra_op_thread_count": &p.intra, "inter_op_thread_count": &p.inter} {
		if v, ok := settings[key]; ok && p.global {
			if *to, err = requirement.Integer(v); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

func providers() ([]string, error) {
	var names **C.char
	var n C.int32_t
	if err := check(C.trt_ort_providers(&names, &n)); err != nil {
		return nil, err
	}
	defer C.trt_ort_providers_free(names, n)
	var list []string
	for _, name := range unsafe.Slice(names, int(n)) {
		list = append(list, C.GoString(name))
	}
	return list, nil
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
