//go:build cgo && linux

package native

/*
#include <stdlib.h>
#include "openvino.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"triton/pkg/status"
	"triton/pkg/tensor"
)

// graph is a model that was read, in C memory.
type graph struct {
	ptr             *C.trt_ov_model
	inputs, outputs []port
}

// readGraph reads a model and gives its inputs the shapes that the options ask for.
func readGraph(path string, o openVINOOptions) (*graph, error) {
	g := &graph{ptr: (*C.trt_ov_model)(C.calloc(1, C.sizeof_trt_ov_model))}
	if g.ptr == nil {
		return nil, status.New(status.Internal, "no memory for a model")
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var extension *C.char
	if o.extension != "" {
		extension = C.CString(o.extension)
		defer C.free(unsafe.Pointer(extension))
	}
	if C.trt_ov_read(g.ptr, name, extension) != 0 {
		err := g.fail("cannot read " + path)
		g.free()
		return nil, err
	}
	return g, g.describe()
}

func (g *graph) fail(doing string) error { return openVINOFailure(doing, &g.ptr.error) }

func openVINOFailure(doing string, e *C.trt_ov_error) error {
	if e.code == C.TRT_OV_RANK {
		return status.New(status.Unsupported, "OpenVINO %s: a tensor has more than %d dimensions", doing, C.TRT_OV_MAX_RANK)
	}
	return status.New(status.Internal, "OpenVINO %s: error %d: %s", doing, int(e.code), C.GoString(&e.text[0]))
}

// describe reads the inputs and outputs.
func (g *graph) describe() error {
	g.inputs, g.outputs = nil, nil
	ports := unsafe.Slice(g.ptr.port, int(g.ptr.inputs+g.ptr.outputs))
	for i := range ports {
		if i < int(g.ptr.inputs) {
			g.inputs = append(g.inputs, describePort(&ports[i], "input", i))
		} else {
			g.outputs = append(g.outputs, describePort(&ports[i], "output", i-int(g.ptr.inputs)))
		}
	}
	return nil
}

func describePort(c *C.trt_ov_port, kind string, i int) port {
	place := fmt.Sprintf("%s_%d", kind, i)
	p := port{names: []string{place}, ranks: c.rank >= 0}
	if c.name != nil {
		p.names = []string{C.GoString(c.name), place}
	}
	p.Name, p.DataType = p.names[0], openVINOTypes[int(c._type)]
	p.Dims = tensor.Shape{}
	for d := range max(int(c.rank), 0) {
		p.Dims = append(p.Dims, int64(c.dims[d]))
	}
	if !p.ranks {
		p.Dims = tensor.Shape{-1}
	}
	return p
}

// reshape gives the inputs these shapes.
func (g *graph) reshape(shapes []tensor.Shape) error {
	list := make([]C.trt_ov_port, len(shapes)+1)
	for i, s := range shapes {
		if len(s) > C.TRT_OV_MAX_RANK {
			return status.New(status.Unsupported, "input '%s' has more than %d dimensions", g.inputs[i].Name, C.TRT_OV_MAX_RANK)
		}
		list[i].rank = C.int32_t(len(s))
		for d, n := range s {
			list[i].dims[d] = C.int64_t(n)
		}
	}
	if C.trt_ov_reshape(g.ptr, &list[0]) != 0 {
		return g.fail(fmt.Sprintf("cannot give the inputs the shapes %v", shapes))
	}
	return g.describe()
}

// compile compiles the model for its device.
func (g *graph) compile(o openVINOOptions) error {
	var list [2 * C.TRT_OV_MAX_OPTIONS]*C.char
	for i, p := range o.properties {
		for k, text := range p {
			s := C.CString(text)
			defer C.free(unsafe.Pointer(s))
			list[2*i+k] = s
		}
	}
	device := C.CString(o.device)
	defer C.free(unsafe.Pointer(device))
	if C.trt_ov_compile(g.ptr, device, &list[0], C.int(len(o.properties))) != 0 {
		return g.fail("cannot compile the model for " + o.device)
	}
	return nil
}

func (g *graph) free() {
	C.trt_ov_model_free(g.ptr)
	g.ptr = nil
}
