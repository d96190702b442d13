//go:build cgo && linux

package plugin

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../capi/include
#cgo LDFLAGS: -rdynamic
#include <stdlib.h>
#include "host.h"
*/
import "C"

import (
	"slices"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/capi" // also the functions of the server's own API, which libraries call
	"triton/server/infer"
)

// epoch is the time of the system's clock at time 0 of infer.Now.
var epoch = int64(C.trt_clock()) - infer.Now()

// toNow converts a time that a backend reports.
func toNow(reported C.uint64_t) int64 { return int64(reported) - epoch }

// take converts an error that a backend returned, and frees it.
func take(e *C.TRITONSERVER_Error) error {
	if e == nil {
		return nil
	}
	defer C.TRITONSERVER_ErrorDelete(e)
	return fromC(C.TRITONSERVER_ErrorCode(e), C.TRITONSERVER_ErrorMessage(e))
}

func fromC(code C.TRITONSERVER_Error_Code, text *C.char) error {
	c := status.Code(code)
	if code > C.TRITONSERVER_ERROR_CANCELLED {
		c = status.Unknown
	}
	return status.New(c, "%s", C.GoString(text))
}

// give converts an error for a backend, which frees it.
func give(err error) *C.TRITONSERVER_Error { return (*C.TRITONSERVER_Error)(capi.NewError(err)) }

// allocate returns cleared memory of C for a T.
func allocate[T any]() *T {
	var t T
	return (*T)(C.calloc(1, C.size_t(unsafe.Sizeof(t))))
}

// message makes a message that the server owns.
func message(json []byte) (*C.TRITONSERVER_Message, error) {
	text := C.CBytes(append(json, 0))
	defer C.free(text)
	var m *C.TRITONSERVER_Message
	err := take(C.TRITONSERVER_MessageNewFromSerializedJson(&m, (*C.char)(text), C.size_t(len(json))))
	return m, err
}

// names makes the C form of names.
func names(all []string) C.trt_names {
	if len(all) == 0 {
		return C.trt_names{}
	}
	list := (**C.char)(C.calloc(C.size_t(len(all)), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, n := range all {
		unsafe.Slice(list, len(all))[i] = C.CString(n)
	}
	return C.trt_names{count: C.uint32_t(len(all)), names: list}
}

// kinds are the kinds of instance groups by those of the API, which numbers them differently.
var kinds = [...]inferencepb.ModelInstanceGroup_Kind{
	C.TRITONSERVER_INSTANCEGROUPKIND_AUTO:  inferencepb.ModelInstanceGroup_KIND_AUTO,
	C.TRITONSERVER_INSTANCEGROUPKIND_CPU:   inferencepb.ModelInstanceGroup_KIND_CPU,
	C.TRITONSERVER_INSTANCEGROUPKIND_GPU:   inferencepb.ModelInstanceGroup_KIND_GPU,
	C.TRITONSERVER_INSTANCEGROUPKIND_MODEL: inferencepb.ModelInstanceGroup_KIND_MODEL,
}

func kindToC(k inferencepb.ModelInstanceGroup_Kind) C.TRITONSERVER_InstanceGroupKind {
	return C.TRITONSERVER_InstanceGroupKind(max(slices.Index(kinds[:], k), 0))
}

func kindFromC(k C.TRITONSERVER_InstanceGroupKind) inferencepb.ModelInstanceGroup_Kind {
	if int(k) >= len(kinds) {
		return inferencepb.ModelInstanceGroup_KIND_AUTO
	}
	return kinds[k]
}
