//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
)

// providerNumbers translates the names of providers that have functions of their own.
var providerNumbers = map[string]C.int32_t{
	"cuda": C.TRT_ORT_CUDA, "tensorrt": C.TRT_ORT_TENSORRT, "openvino": C.TRT_ORT_OPENVINO,
}

// appendProvider adds an execution provider to the options of a session.
func (l *library) appendProvider(opts *C.OrtSessionOptions, p requirement.Provider) error {
	if err := l.hasProvider(p); err != nil {
		return err
	}
	which, ok := providerNumbers[p.Short]
	if !ok {
		which = C.TRT_ORT_OTHER
	}
	keys, values := make([]string, len(p.Options)), make([]string, len(p.Options))
	for i, o := range p.Options {
		keys[i], values[i] = o.Key, o.Value
	}
	k, freeKeys := cStrings(keys)
	defer freeKeys()
	v, freeValues := cStrings(values)
	defer freeValues()
	name, freeName := cStrings([]string{p.Short})
	defer freeName()
	return check(C.trt_ort_options_provider(l.c, opts, which, *name, k, v, C.size_t(len(keys))))
}

// hasProvider returns an error if the library was built without the provider, if the provider's own
// library is missing, or if another ONNX Runtime of this process has opened such libraries.
func (l *library) hasProvider(p requirement.Provider) error {
	if !slices.Contains(l.providers, p.Name) {
		return status.New(status.InvalidArg,
			"unknown Execution Accelerator '%s' is requested: the ONNX Runtime library %s, version %s, has no %s (it has %s); name a library that has it with the parameter %s",
			strings.ToLower(p.Short), l.path, l.version, p.Name, strings.Join(l.providers, ", "), parameterLibrary)
	}
	if !p.Separate() {
		return nil
	}
	real, err := filepath.EvalSymlinks(l.path) // where ONNX Runtime looks
	if err != nil {
		return status.New(status.Unavailable, "unable to load shared library: %w", err)
	}
	file := filepath.Join(filepath.Dir(real), providerFile(p.Short))
	if _, err := os.Stat(file); err != nil {
		return status.New(status.Unavailable, "the library %s of the execution provider %s is missing: ONNX Runtime looks for it only in %s, beside %s",
			filepath.Base(file), p.Name, filepath.Dir(file), filepath.Base(real))
	}
	return l.share(p)
}

func providerFile(short string) string {
	if runtime.GOOS == "darwin" {
		return "libonnxruntime_providers_" + short + ".dylib"
	}
	return "libonnxruntime_providers_" + short + ".so"
}

// share makes l the library whose providers the process uses. The libraries of providers find their
// ONNX Runtime through a library that the dynamic linker knows by its name alone
// (libonnxruntime_providers_shared.so), so those of a second one would call into the first.
func (l *library) share(p requirement.Provider) error {
	process.Lock()
	defer process.Unlock()
	if process.sharing == nil {
		process.sharing = l
	}
	if process.sharing != l {
		return status.New(status.Unavailable,
			"%s of the ONNX Runtime library %s cannot be used: the process uses execution providers of %s already; run one of the models in a process of its own (parameter isolation: process)",
			p.Name, l.path, process.sharing.path)
	}
	return nil
}
