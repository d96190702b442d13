//go:build cgo && linux

package native

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden
#cgo noescape trt_ov_run
#cgo nocallback trt_ov_run
#include <stdlib.h>
#include "openvino.h"
*/
import "C"

import (
	"strings"
	"sync"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// openVINOFunctions are the functions of the C API, in the order of the table of the C layer.
var openVINOFunctions = []string{
	"ov_get_last_err_msg", "ov_get_error_info", "ov_get_openvino_version", "ov_version_free",
	"ov_core_create", "ov_core_get_property", "ov_core_add_extension", "ov_core_read_model", "ov_core_compile_model",
	"ov_model_free", "ov_model_inputs_size", "ov_model_outputs_size", "ov_model_const_input_by_index", "ov_model_const_output_by_index",
	"ov_model_reshape_by_port_indexes", "ov_port_get_any_name", "ov_port_get_partial_shape", "ov_port_get_element_type",
	"ov_output_const_port_free", "ov_partial_shape_create", "ov_partial_shape_free", "ov_free",
	"ov_compiled_model_create_infer_request", "ov_compiled_model_free", "ov_infer_request_set_input_tensor_by_index",
	"ov_infer_request_get_output_tensor_by_index", "ov_infer_request_infer", "ov_infer_request_cancel", "ov_infer_request_free",
	"ov_tensor_create_from_host_ptr", "ov_tensor_create_from_string_array", "ov_tensor_get_shape", "ov_tensor_get_element_type",
	"ov_tensor_get_size", "ov_tensor_get_byte_size", "ov_tensor_data", "ov_tensor_free", "ov_shape_free",
}

// openVINOOpened is the library of the process. It is global because the library is: it is never
// unloaded.
var openVINOOpened struct {
	sync.Mutex
	done bool
	err  error // of a library that opens but cannot be used
}

// Ready opens the library.
func (e *openVINO) Ready(_ *inferencepb.ModelConfig, settings map[string]string) error {
	return e.open(settings)
}

func (e *openVINO) open(settings map[string]string) error {
	openVINOOpened.Lock()
	defer openVINOOpened.Unlock()
	if openVINOOpened.done {
		return openVINOOpened.err
	}
	path, err := e.search.find(openVINOLibrary, settings)
	if err != nil {
		return err
	}
	if err := openLibrary(path, openVINOFunctions, unsafe.Pointer(&C.trt_ov.function)); err != nil {
		return err
	}
	var text [64]C.char
	C.trt_ov_version(&text[0])
	openVINOOpened.done = true
	if version := C.GoString(&text[0]); !strings.HasPrefix(version, openVINORelease) {
		openVINOOpened.err = status.New(status.Unsupported, "the OpenVINO library %s is version %s, and this program knows release %s: get it with \"python3 -m pip install openvino==2026.4.1\"",
			path, version, strings.TrimSuffix(openVINORelease, "."))
		return openVINOOpened.err
	}
	var failed C.trt_ov_error
	if C.trt_ov_start(&failed) != 0 {
		openVINOOpened.err = openVINOFailure("cannot start", &failed)
	}
	return openVINOOpened.err
}
