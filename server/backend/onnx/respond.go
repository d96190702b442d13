//go:build cgo && (linux || darwin)

package onnx

/*
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"unsafe"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// respond makes the responses of the batch from the outputs of a run.
func (i *instance) respond(b *infer.Batch) error {
	i.scatter.Start(b)
	for k := range i.out {
		if i.out[k].use == 0 {
			continue
		}
		if err := i.respondOutput(b, k); err != nil {
			i.scatter.Drop()
			return err
		}
	}
	return nil
}

func (i *instance) respondOutput(b *infer.Batch, k int) error {
	t := &i.out[k]
	i.shape = i.shape[:0]
	if i.scalar[len(i.in)+k] { // ONNX Runtime may still give it dimensions of 1
		if i.model.sig.Batching {
			i.shape = append(append(i.shape, 1), i.model.sig.Outputs[k].BackendShape()...)
		}
	} else {
		for d := range int(t.rank) {
			i.shape = append(i.shape, int64(t.dims[d]))
		}
	}
	if s := i.direct[k]; s.Buffer != nil {
		i.scatter.Output(k, i.shape, s.Buffer, s.Off, s.N)
		return nil
	}
	if i.offset[k] >= 0 {
		i.scatter.Output(k, i.shape, i.buffer, i.offset[k], i.size[k])
		return nil
	}
	s, err := i.takeOutput(b, k)
	if err != nil {
		return err
	}
	i.scatter.Output(k, i.shape, s.Buffer, s.Off, s.N)
	s.Buffer.Release()
	return nil
}

// takeOutput returns an output that ONNX Runtime allocated as a buffer of ours. It is
// lent if possible. Strings are copied, and so is an output that is an input unchanged,
// because the memory of the input is released with the batch.
func (i *instance) takeOutput(b *infer.Batch, k int) (tensor.Segment, error) {
	t := &i.out[k]
	isString := i.model.sig.Outputs[k].DataType == tensor.Bytes
	if !isString && !i.isInput(t.data) {
		buf := lend(i.call.lib, i.model.spec.Pool, t)
		return tensor.Segment{Buffer: buf, N: buf.Len()}, nil
	}
	o := i.output(k, int(t.bytes))
	if o.Filled = true; isString {
		o.Name = "" // rows are split by lengths in the data, which a client could change
	}
	s, err := b.Alloc(o)
	if err != nil {
		return s, err
	}
	if isString {
		if C.trt_ort_strings(i.call, C.int32_t(k), unsafe.Pointer(unsafe.SliceData(s.Bytes()))) != 0 {
			err = i.runError()
		}
	} else {
		copy(s.Bytes(), unsafe.Slice((*byte)(t.data), s.N))
		i.model.spec.Pool.CopiedToClient(s.N) // dropOutputs releases the value
	}
	if err != nil {
		s.Buffer.Release()
		return tensor.Segment{}, err
	}
	return s, nil
}

func (i *instance) isInput(at unsafe.Pointer) bool {
	for k := range i.in {
		if i.in[k].use != 0 && i.in[k].data == at {
			return true
		}
	}
	return false
}

// dropOutputs releases the outputs of the last run: its buffer, which the responses
// have retained, and values that no response took.
func (i *instance) dropOutputs() {
	if i.buffer != nil {
		i.buffer.Release()
		i.buffer = nil
	}
	for k := range i.direct {
		if s := &i.direct[k]; s.Buffer != nil {
			s.Buffer.Release()
			*s = tensor.Segment{}
		}
	}
	for k := range i.out {
		if v := i.out[k].value; v != nil {
			C.trt_ort_value_free(i.call.lib, v)
			i.out[k].value = nil
		}
	}
}

// runError returns the error of the last run as clients see it.
func (i *instance) runError() error {
	e := &i.call.error
	if e.code < C.TRT_ORT_NO_LIBRARY {
		return status.New(status.Internal, "onnx runtime error %d: %s", int(e.code), C.GoString(e.message))
	}
	k := int(i.call.fault)
	if k < len(i.in) {
		return i.stringError(i.model.sig.Inputs[k].Name, &i.in[k])
	}
	name := i.model.sig.Outputs[k-len(i.in)].Name
	switch e.code {
	case C.TRT_ORT_TYPE:
		return status.New(status.Internal, "output '%s' is not of the type that the model declares", name)
	case C.TRT_ORT_RANK:
		return status.New(status.Internal, "output '%s' has more than %d dimensions", name, C.TRT_ORT_MAX_RANK)
	}
	return status.New(status.Internal, "a string of output '%s' is too long", name)
}

// stringError describes the mistake in a string input, in the words of Triton's backend
// library.
func (i *instance) stringError(name string, t *C.trt_ort_tensor) error {
	switch {
	case i.call.error.code == C.TRT_ORT_STRING_LENGTH:
		return status.New(status.InvalidArg,
			"incomplete string length indicator for inference input '%s' for model '%s', expecting 4 bytes but only %d bytes available. Please make sure the string length indicator is in one buffer.",
			name, i.model.spec.Name, t.bytes)
	case i.call.error.code == C.TRT_ORT_STRING_DATA:
		return status.New(status.InvalidArg, "incomplete string data for inference input '%s', expecting string of length %d but only %d bytes available", name, t.elements, t.bytes)
	case t.bytes > t.elements:
		return status.New(status.InvalidArg, "unexpected number of string elements %d for inference input '%s', expecting %d", t.bytes, name, t.elements)
	}
	return status.New(status.InvalidArg, "expected %d strings for inference input '%s', got %d", t.elements, name, t.bytes)
}

// Close frees the memory of the run and releases the session, which is closed with its
// last instance.
func (i *instance) Close() error {
	i.free()
	if i.leave != nil {
		i.leave()
		i.leave = nil
	}
	return nil
}

func (i *instance) free() {
	i.gather.Release() // after a panic in a run
	i.dropOutputs()
	i.watch.Close()
	C.trt_ort_call_free(i.call)
	i.call, i.in, i.out = nil, nil, nil
}
