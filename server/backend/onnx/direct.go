//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

import (
	"unsafe"

	"triton/server/backend"
	"triton/server/infer"
)

// writeDirectly makes the run write output k, whose size is known, into the memory that
// the client chose, and reports whether it does. Otherwise the output is copied there:
// the batch has several requests, or the request does not allow it.
func (i *instance) writeDirectly(b *infer.Batch, k int) bool {
	if len(b.Requests) != 1 {
		return false
	}
	o := i.output(k, i.size[k])
	s, ok := b.Requests[0].Region(o)
	if !ok {
		return false
	}
	i.direct[k] = s
	i.out[k].data, i.out[k].bytes = unsafe.Pointer(unsafe.SliceData(s.Bytes())), C.uint64_t(s.N)
	return true
}

// output describes output k to the allocator of its memory. A state is described without
// its name, so that it is never stored in the client's region: the client could change it
// between the requests of the sequence.
func (i *instance) output(k, size int) infer.Output {
	v := &i.model.sig.Outputs[k]
	o := infer.Output{DataType: v.DataType, Size: size, Filled: i.model.fills}
	if v.Role != backend.State {
		o.Name = v.Name
	}
	return o
}
