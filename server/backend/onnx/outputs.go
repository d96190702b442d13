//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// lent is an output in the engine's own memory, which is the engine's again
// when the last response that uses it is released.
type lent struct {
	buf   tensor.Buffer
	value *C.OrtValue
}

var lents = sync.Pool{New: func() any { return &lent{} }}

// lend makes a buffer of the output's memory and takes over its value.
func lend(t *C.trt_ort_tensor) *tensor.Buffer {
	l := lents.Get().(*lent)
	l.value, t.value = t.value, nil
	l.buf.Init(unsafe.Slice((*byte)(t.data), int(t.bytes)), true, l)
	return &l.buf
}

// Free is called at the last release of the buffer.
func (l *lent) Free(*tensor.Buffer) {
	C.trt_ort_value_free(l.value)
	l.value = nil
	lents.Put(l)
}

// dim is one dimension of an output: a number, or that of an input's dimension
// because the graph gives both the same name.
type dim struct {
	fixed       int64
	input, axis int // when fixed is -1
}

// shapeRule says how the shape of an output follows from those of the inputs.
type shapeRule []dim

// rule finds out whether an output's shape is known before a run; nil when not.
func rule(sig *backend.Signature, graph *onnxmodel.Model, out onnxmodel.Value) shapeRule {
	if _, isInput := graph.Input(out.Name); isInput || !out.Ranked || out.Elem == onnxmodel.String {
		return nil // the engine does not write an output that is an input: it hands the input out
	}
	var r shapeRule
	for axis, n := range out.Dims {
		d := dim{fixed: n}
		if n < 0 {
			var ok bool
			if d.input, d.axis, ok = sameName(sig, graph, out.Symbols[axis]); !ok {
				return nil
			}
			d.fixed = -1
		}
		r = append(r, d)
	}
	return r
}

// sameName finds an input's dimension of that name.
func sameName(sig *backend.Signature, graph *onnxmodel.Model, symbol string) (input, axis int, ok bool) {
	if symbol == "" {
		return 0, 0, false
	}
	for i := range sig.Inputs {
		v, found := graph.Input(sig.Inputs[i].Name)
		if !found || sig.Inputs[i].Optional {
			continue
		}
		for k, s := range v.Symbols {
			if s == symbol && v.Dims[k] < 0 {
				return i, k, true
			}
		}
	}
	return 0, 0, false
}

// append writes the shape for these inputs.
func (r shapeRule) append(dst tensor.Shape, inputs []backend.Gathered) tensor.Shape {
	for _, d := range r {
		n := d.fixed
		if n < 0 {
			n = inputs[d.input].Shape[d.axis]
		}
		dst = append(dst, n)
	}
	return dst
}
