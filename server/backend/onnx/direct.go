//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

import (
	"unsafe"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// directly lets the run write output k, whose size is known, into the memory
// where the client wants it. The zero segment says that it is to be copied
// there: the batch has several requests, or the client's memory is too small,
// not aligned, or holds something that the run still reads or writes.
func (i *instance) directly(b *infer.Batch, k int) tensor.Segment {
	if len(b.Requests) != 1 || i.size[k] == 0 {
		return tensor.Segment{}
	}
	r, v := b.Requests[0], &i.model.sig.Outputs[k]
	if v.Role == backend.State { // the client may write there while the sequence goes on
		return tensor.Segment{}
	}
	s, ok := r.Into(v.Name)
	if !ok || s.N < i.size[k] || !s.Buffer.Stable() || shares(r, v.Name, s) {
		return tensor.Segment{}
	}
	s.N = i.size[k]
	at := unsafe.Pointer(unsafe.SliceData(s.Bytes()))
	// A client that has taken its memory away gets an error from the copy.
	if uintptr(at)%uintptr(v.DataType.Size()) != 0 || !tensor.TouchShared(s.Bytes()) {
		return tensor.Segment{}
	}
	i.out[k].data, i.out[k].bytes = at, C.uint64_t(s.N)
	return s
}

// shares says whether the place of an output is also that of an input or of
// another output.
func shares(r *infer.Request, output string, s tensor.Segment) bool {
	for i := range r.Inputs {
		d := &r.Inputs[i].Data
		for k := range d.Segments() {
			if s.Overlaps(d.Segment(k)) {
				return true
			}
		}
	}
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o.Name != output && s.Overlaps(o.Into) {
			return true
		}
	}
	return false
}
