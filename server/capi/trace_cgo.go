//go:build cgo && linux

package capi

// #include "value.h"
import "C"

// capiTraceContext is addActivity for the C code. The caller frees the result.
//
//export capiTraceContext
func capiTraceContext(context *C.char, ns C.uint64_t, name *C.char) (added *C.char) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(p)
		}
	}()
	return C.CString(string(addActivity([]byte(C.GoString(context)), uint64(ns), C.GoString(name))))
}
