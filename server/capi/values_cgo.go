//go:build cgo && linux

package capi

/*
#cgo CFLAGS: -I${SRCDIR}/include -fvisibility=hidden
#cgo LDFLAGS: -rdynamic
#include "value.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"triton/pkg/status"
)

// newError returns the TRITONSERVER_Error of an error; nil of nil.
func newError(err error) *C.TRITONSERVER_Error {
	if err == nil {
		return nil
	}
	e := status.From(err)
	text := C.CString(e.Msg)
	defer C.free(unsafe.Pointer(text))
	return C.TRITONSERVER_ErrorNew(C.TRITONSERVER_Error_Code(e.Code), text)
}

// NewError returns the TRITONSERVER_Error of an error, which the caller deletes; nil of nil.
func NewError(err error) unsafe.Pointer { return unsafe.Pointer(newError(err)) }

// TakeError deletes a TRITONSERVER_Error and returns it as an error; nil of nil.
func TakeError(p unsafe.Pointer) error {
	if p == nil {
		return nil
	}
	e := (*C.TRITONSERVER_Error)(p)
	err := status.New(status.Code(C.TRITONSERVER_ErrorCode(e)), "%s", C.GoString(C.TRITONSERVER_ErrorMessage(e)))
	C.TRITONSERVER_ErrorDelete(e)
	return err
}

// Recover is deferred by functions that C calls. It makes a panic the error of the call, because
// a panic must not reach C.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = status.New(status.Internal, "internal error: %v", p)
		logPanic(p)
	}
}

// call runs a function for C.
func call(f func() error) *C.TRITONSERVER_Error {
	err := func() (err error) {
		defer Recover(&err)
		return f()
	}()
	return newError(err)
}

// NewMessage returns a TRITONSERVER_Message with a copy of a JSON text.
func NewMessage(text []byte) unsafe.Pointer {
	return unsafe.Pointer(C.capi_message((*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.size_t(len(text))))
}

func logPanic(p any) { logger().Error(fmt.Sprintf("a function of the C API failed: %v", p)) }
