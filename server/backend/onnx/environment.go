//go:build cgo && (linux || darwin)

package onnx

/*
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"context"
	"log/slog"
	"strings"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"triton/pkg/status"
)

// bindingLevel is the level of the function table that the binding asks for. An older library
// gets its environment without the binding.
const bindingLevel = 24

// environment creates the environment of the library once. The first settings and log
// level win, because a library has only one environment. The caller holds process.Mutex.
func (l *library) environment(log *slog.Logger, settings map[string]string) error {
	if l.ready {
		return nil
	}
	level, option := logLevel(log)
	pool, err := poolSettings(settings)
	if err != nil {
		return err
	}
	arena, err := arenaSettings(settings)
	if err != nil {
		return err
	}
	if pool.global {
		// An environment with global pools has to come before the binding's.
		if err := check(C.trt_ort_env(l.c, level, 1, C.int32_t(pool.intra), C.int32_t(pool.inter))); err != nil {
			return err
		}
	}
	if !ort.IsInitialized() && l.c.level >= bindingLevel && l == process.first {
		ort.SetSharedLibraryPath(l.path)
		if err := ort.InitializeEnvironment(option); err != nil {
			return status.New(status.Internal, "onnx runtime: %w", err)
		}
	}
	if err := check(C.trt_ort_env(l.c, level, 0, 0, 0)); err != nil {
		return err
	}
	if err := l.arena(arena); err != nil {
		return err
	}
	l.globalPool, l.sharedArena, l.ready = pool.global, len(arena) > 0, true
	log.Info("ONNX Runtime is open", "version", l.version, "library", l.path,
		"providers", strings.Join(l.providers, ","))
	return nil
}

// logLevel returns ONNX Runtime's level for the level of our logger.
func logLevel(log *slog.Logger) (C.int32_t, ort.EnvironmentOption) {
	ctx := context.Background()
	switch {
	case log.Enabled(ctx, slog.LevelDebug):
		return 0, ort.WithLogLevelVerbose()
	case log.Enabled(ctx, slog.LevelWarn):
		return 2, ort.WithLogLevelWarning()
	}
	return 3, ort.WithLogLevelError()
}

// arena registers the arena that all sessions share, if there are settings for it.
func (l *library) arena(settings []arenaSetting) error {
	if len(settings) == 0 {
		return nil
	}
	keys := make([]string, len(settings))
	values := make([]C.size_t, len(settings))
	for i, s := range settings {
		keys[i], values[i] = s.key, C.size_t(s.value)
	}
	list, free := cStrings(keys)
	defer free()
	return check(C.trt_ort_env_arena(l.c, list, &values[0], C.size_t(len(values))))
}

// cStrings returns the texts in C memory, and the function that frees it.
func cStrings(texts []string) (**C.char, func()) {
	mem := C.calloc(C.size_t(len(texts)+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))
	list := unsafe.Slice((**C.char)(mem), len(texts)+1)
	for i, s := range texts {
		list[i] = C.CString(s)
	}
	return &list[0], func() {
		for _, s := range list {
			C.free(unsafe.Pointer(s))
		}
		C.free(mem)
	}
}
