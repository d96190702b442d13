//go:build cgo && (linux || darwin)

package onnx

/*
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

const (
	// align is the alignment in bytes of outputs that share a buffer.
	align = 64
	// maxOutputs bounds the bytes of all outputs of a run.
	maxOutputs = 1 << 46
)

// instance runs one batch at a time. Everything that a run needs is allocated once.
type instance struct {
	model   *model
	name    string
	limit   int    // rows
	leave   func() // releases the session
	call    *C.trt_ort_call
	in, out []C.trt_ort_tensor // C memory of call
	watch   *backend.Watch
	gather  *backend.Gather
	scatter *backend.Scatter
	rules   []shapeRule
	scalar  []bool         // of each input, then output: declared as a scalar
	buffer  *tensor.Buffer // of the outputs that the run writes into
	offset  []int          // of each output in buffer; -1: allocated by ONNX Runtime
	size    []int
	direct  []tensor.Segment // of each output: the client's memory that the run writes into
	shape   tensor.Shape
}

var _ backend.Instance = (*instance)(nil)

func (m *model) instance(s *session, at backend.Placement) (*instance, error) {
	name := at.Name
	o, err := parseOptions(m.spec, at.Kind == inferencepb.ModelInstanceGroup_KIND_GPU)
	if err != nil {
		return nil, err
	}
	n, k := len(m.sig.Inputs), len(m.sig.Outputs)
	i := &instance{
		model: m, name: name, limit: max(1, int(m.spec.Config.GetMaxBatchSize())),
		gather: backend.NewGather(m.sig, m.spec.Pool), scatter: backend.NewScatter(m.sig),
		rules: make([]shapeRule, k), scalar: make([]bool, n+k), offset: make([]int, k), size: make([]int, k),
		direct: make([]tensor.Segment, k),
	}
	i.call = C.trt_ort_call_new(s.lib.c, s.ptr, C.int32_t(n), C.int32_t(k))
	i.watch = backend.NewWatch(i.stop)
	if i.call == nil {
		return nil, status.New(status.Internal, "no memory for instance '%s'", name)
	}
	all := unsafe.Slice(i.call.tensor, n+k)
	i.in, i.out = all[:n:n], all[n:]
	if err := i.bind(s, o); err != nil {
		i.free()
		return nil, err
	}
	return i, nil
}

// bind sets the fields of the call that are the same in all runs.
func (i *instance) bind(s *session, o *options) error {
	sig := i.model.sig
	for k := range sig.Inputs {
		v, ok := s.graph.Input(sig.Inputs[k].Name)
		if !ok {
			return status.New(status.InvalidArg, "unexpected inference input '%s'", sig.Inputs[k].Name)
		}
		if err := i.checkValue(&sig.Inputs[k], v); err != nil {
			return err
		}
		i.in[k].name, i.in[k]._type = s.names[v.Name], C.int32_t(v.Elem)
		i.scalar[k] = isScalar(v)
	}
	for k := range sig.Outputs {
		v, ok := s.graph.Output(sig.Outputs[k].Name)
		if !ok {
			return status.New(status.InvalidArg, "unexpected inference output '%s'", sig.Outputs[k].Name)
		}
		if err := i.checkValue(&sig.Outputs[k], v); err != nil {
			return err
		}
		i.out[k].name, i.out[k]._type = s.names[v.Name], C.int32_t(v.Elem)
		i.rules[k] = rule(sig, s.graph, v)
		i.scalar[len(sig.Inputs)+k] = isScalar(v)
	}
	for _, e := range o.runEntries {
		key, value := C.CString(e.key), C.CString(e.value)
		err := check(C.trt_ort_call_option(i.call, key, value))
		C.free(unsafe.Pointer(key))
		C.free(unsafe.Pointer(value))
		if err != nil {
			return err
		}
	}
	return nil
}

// isScalar reports whether the graph declares v as a scalar, which a configuration lists as [1].
// A run has one value of it, as onnxmodel.CheckConfig allows batches of one at most.
func isScalar(v onnxmodel.Value) bool { return v.Ranked && len(v.Dims) == 0 }

// checkValue checks what the C layer relies on. checkGraph has checked the rest, with
// better messages.
func (i *instance) checkValue(v *backend.Value, declared onnxmodel.Value) error {
	if declared.Elem.DataType() != v.DataType {
		return status.New(status.InvalidArg, "unable to load model '%s', configuration expects datatype %s for '%s', model provides %s",
			i.model.spec.Name, v.DataType.ConfigName(), v.Name, declared.Elem.DataType().ConfigName())
	}
	if len(v.BackendShape())+1 > C.TRT_ORT_MAX_RANK {
		return status.New(status.Unsupported, "tensor '%s' of model '%s' has more than %d dimensions", v.Name, i.model.spec.Name, C.TRT_ORT_MAX_RANK-1)
	}
	return nil
}

// Execute runs the batch in one cgo call. The inputs of a batch of one are not copied,
// nor are outputs.
func (i *instance) Execute(ctx context.Context, b *infer.Batch) error {
	if len(b.Requests) == 0 || b.Rows > i.limit {
		return status.New(status.Internal, "batch size %d for '%s', max allowed is %d", b.Rows, i.name, i.limit)
	}
	if err := i.gather.Collect(b); err != nil {
		return err
	}
	err := i.runWatched(ctx, b)
	if err == nil {
		err = i.respond(b)
	}
	i.gather.Release()
	i.dropOutputs()
	if err != nil {
		return err
	}
	i.scatter.Send()
	return nil
}

// run calls ONNX Runtime. If it refuses an output shape that was derived from the names
// of dimensions, the names in the model are wrong: run repeats the call with memory
// that ONNX Runtime allocates, and the model's shapes are not derived again.
func (i *instance) run(b *infer.Batch) error {
	i.setInputs()
	derive := i.model.derive.Load()
	derived, err := i.setOutputs(b, derive)
	if err != nil {
		return err
	}
	b.InputEnd = infer.Now()
	code := C.trt_ort_run(i.call)
	if derived && i.refusedShape() {
		first := i.runError()
		if _, err := i.setOutputs(b, false); err != nil {
			return err
		}
		if code = C.trt_ort_run(i.call); code == 0 && i.model.derive.CompareAndSwap(true, false) {
			i.model.spec.Log.Warn("output shapes differ from those that the model declares; ONNX Runtime allocates its outputs from now on",
				"model", i.model.spec.Name, "error", first)
		}
	}
	b.OutputStart = infer.Now()
	if code != 0 {
		return i.runError()
	}
	return nil
}

// refusedShape reports whether the last run failed on the memory of an output. ONNX
// Runtime has no error code for that, but all its messages about it contain the type's name,
// OrtValue.
func (i *instance) refusedShape() bool {
	return i.call.error.code != 0 && strings.Contains(C.GoString(i.call.error.message), "OrtValue")
}

func (i *instance) setInputs() {
	for k := range i.in {
		t, g := &i.in[k], &i.gather.Inputs[k]
		if !g.Present {
			t.use = 0
			continue
		}
		t.use = 1
		t.data, t.bytes = unsafe.Pointer(unsafe.SliceData(g.Bytes)), C.uint64_t(len(g.Bytes))
		setShape(t, g.Shape)
		if i.scalar[k] {
			t.rank = 0
		}
		if i.model.sig.Inputs[k].DataType == tensor.Bytes {
			n, _ := g.Shape.Elements() // validated before; C checks it again
			t.elements = C.uint64_t(n)
		}
	}
}

func setShape(t *C.trt_ort_tensor, shape tensor.Shape) {
	t.rank = C.int32_t(len(shape))
	for d, n := range shape {
		t.dims[d] = C.int64_t(n)
	}
}

// setOutputs chooses which outputs the run computes and where they are written. Those
// in our memory share one buffer; those in the client's memory are written there if
// possible. ONNX Runtime allocates an output whose size is too large for us and reports
// the error: shapes come from clients, and a dimension of 0 makes an input of any shape
// take no bytes.
func (i *instance) setOutputs(b *infer.Batch, derive bool) (derived bool, err error) {
	i.dropOutputs()
	need := 0
	for k := range i.out {
		t := &i.out[k]
		t.use, t.data, i.offset[k] = 0, nil, -1
		if !i.model.sig.Wants(b, k) {
			continue
		}
		t.use = 1
		if !derive || i.rules[k] == nil {
			continue
		}
		i.shape = i.rules[k].append(i.shape[:0], i.gather.Inputs)
		n, err := i.shape.ByteSize(i.model.sig.Outputs[k].DataType)
		if err != nil {
			return false, status.New(status.InvalidArg, "shape %v of output '%s': %w", i.shape, i.model.sig.Outputs[k].Name, err)
		}
		if n > maxOutputs-int64(need) {
			return i.setOutputs(b, false)
		}
		setShape(t, i.shape)
		i.size[k] = int(n)
		if i.writeDirectly(b, k) {
			derived = true
			continue
		}
		i.offset[k] = need
		need += (int(n) + align) &^ (align - 1) // at least one byte: an address of its own
	}
	if need == 0 {
		return derived, nil
	}
	all, err := b.Alloc(infer.Output{Size: need, Filled: i.model.fills})
	if err != nil { // ONNX Runtime takes its outputs from memory of its own: perhaps that suffices
		return i.setOutputs(b, false)
	}
	i.buffer = all.Buffer
	mem := all.Bytes()
	for k := range i.out {
		if t := &i.out[k]; i.offset[k] >= 0 {
			t.data, t.bytes = unsafe.Pointer(&mem[i.offset[k]]), C.uint64_t(i.size[k])
		}
	}
	return true, nil
}
