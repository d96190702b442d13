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

// lent is an output in memory that ONNX Runtime allocated. The memory is freed when the
// last response that uses it is released.
type lent struct {
	buf   tensor.Buffer
	value *C.OrtValue
	lib   *C.trt_ort_library
	pool  *tensor.Pool // counts it
}

var lents = sync.Pool{New: func() any { return &lent{} }}

// lend returns a buffer over the output's memory and takes ownership of its value.
func lend(lib *C.trt_ort_library, pool *tensor.Pool, t *C.trt_ort_tensor) *tensor.Buffer {
	l := lents.Get().(*lent)
	l.lib, l.pool, l.value, t.value = lib, pool, t.value, nil
	pool.Count(int(t.bytes))
	l.buf.Init(unsafe.Slice((*byte)(t.data), int(t.bytes)), true, l)
	return &l.buf
}

// Free is called at the last release of the buffer.
func (l *lent) Free(b *tensor.Buffer) {
	C.trt_ort_value_free(l.lib, l.value)
	l.pool.Count(-b.Len())
	l.value, l.pool = nil, nil
	lents.Put(l)
}

// dim is one dimension of an output: a number, or the size of an input's dimension with
// the same name in the graph.
type dim struct {
	fixed       int64
	input, axis int // when fixed is -1
}

// shapeRule derives the shape of an output from the shapes of the inputs.
type shapeRule []dim

// rule returns the rule for an output whose shape is known before a run, else nil.
func rule(sig *backend.Signature, graph *onnxmodel.Model, out onnxmodel.Value) shapeRule {
	if _, isInput := graph.Input(out.Name); isInput || !out.Ranked || out.Elem == onnxmodel.String {
		return nil // ONNX Runtime returns the input itself and writes nothing
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

// sameName returns the dimension of an input that has this name.
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

// append appends the shape for these inputs to dst.
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
