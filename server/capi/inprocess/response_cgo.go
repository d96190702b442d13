//go:build cgo && linux

package inprocess

// #include "objects.h"
import "C"

import (
	"runtime/cgo"
	"strconv"
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/capi"
	"triton/server/infer"
)

// chars returns the bytes of a text for a call of C.
func chars(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// response makes the response of C. Its outputs are copied to memory of the allocator, so the
// response of Go can be released.
func (f *flight) response(resp *infer.Response) *C.TRITONSERVER_InferenceResponse {
	model, modelSize := chars(resp.ModelName)
	id, idSize := chars(resp.ID)
	version, _ := strconv.ParseInt(resp.ModelVersion, 10, 64)
	c := C.capi_response(f.allocator, model, modelSize, C.int64_t(version), id, idSize, C.uint32_t(len(resp.Outputs)), C.uint32_t(len(resp.Parameters)))
	err := resp.Err
	if err == nil {
		err = capi.TakeError(unsafe.Pointer(C.capi_call_start(f.allocator, f.allocatorUserp)))
	}
	if err == nil {
		err = f.outputs(c, resp)
	}
	if err != nil {
		e := status.From(err)
		text, size := chars(e.Msg)
		C.capi_response_fail(c, C.TRITONSERVER_Error_Code(e.Code), text, size)
		return c
	}
	for i := range resp.Parameters {
		addParameter(c, &resp.Parameters[i])
	}
	return c
}

func (f *flight) outputs(c *C.TRITONSERVER_InferenceResponse, resp *infer.Response) error {
	var labels map[string][]string
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		name, nameSize := chars(o.Name)
		var base unsafe.Pointer
		size := o.Data.Len()
		shape := (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(o.Shape)))
		err := capi.TakeError(unsafe.Pointer(C.capi_response_output(
			c, f.allocatorUserp, name, nameSize, C.TRITONSERVER_DataType(o.DataType), shape, C.uint64_t(len(o.Shape)), C.size_t(size), &base)))
		if err != nil {
			return err
		}
		if size > 0 {
			if err := tensor.CopyShared(unsafe.Slice((*byte)(base), size), &o.Data); err != nil {
				return err
			}
		}
		if l := f.model.Labels(o.Name); l != nil {
			if labels == nil {
				labels = map[string][]string{}
			}
			labels[o.Name] = l
		}
	}
	if labels != nil {
		c.labels = C.uintptr_t(cgo.NewHandle(labels))
	}
	return nil
}

func addParameter(c *C.TRITONSERVER_InferenceResponse, p *kserve.Parameter) {
	name, nameSize := chars(p.Name)
	switch p.Kind {
	case kserve.ParamBool:
		v := C.bool(p.Bool)
		C.capi_response_parameter(c, name, nameSize, C.TRITONSERVER_PARAMETER_BOOL, unsafe.Pointer(&v))
	case kserve.ParamInt, kserve.ParamUint:
		v := C.int64_t(p.Int)
		if p.Kind == kserve.ParamUint {
			v = C.int64_t(p.Uint)
		}
		C.capi_response_parameter(c, name, nameSize, C.TRITONSERVER_PARAMETER_INT, unsafe.Pointer(&v))
	case kserve.ParamDouble:
		v := C.double(p.Double)
		C.capi_response_parameter(c, name, nameSize, C.TRITONSERVER_PARAMETER_DOUBLE, unsafe.Pointer(&v))
	case kserve.ParamString:
		v := C.CString(p.String)
		defer C.free(unsafe.Pointer(v))
		C.capi_response_parameter(c, name, nameSize, C.TRITONSERVER_PARAMETER_STRING, unsafe.Pointer(v))
	}
}

//export capiLabel
func capiLabel(handle C.uintptr_t, output *C.char, class C.size_t) *C.char {
	labels := cgo.Handle(handle).Value().(map[string][]string)[C.GoString(output)]
	if uint64(class) >= uint64(len(labels)) {
		return nil
	}
	return C.CString(labels[class])
}

//export capiForgetLabels
func capiForgetLabels(handle C.uintptr_t) { cgo.Handle(handle).Delete() }
