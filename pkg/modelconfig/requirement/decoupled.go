package requirement

import (
	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// square checks for IN and OUT of one number each.
func (k *checker) square() {
	if !k.count(1, 1) {
		return
	}
	in, out := k.in(0), k.out(0)
	k.name("first input", "IN", in)
	k.name("first output", "OUT", out)
	k.single("IN", in)
	k.single("OUT", out)
	k.dataType("IN", inferencepb.DataType_TYPE_INT32, in)
	k.dataType("OUT", inferencepb.DataType_TYPE_INT32, out)
}

// repeat checks for a model without batches that has IN, DELAY, WAIT, OUT and IDX.
func (k *checker) repeat() {
	if k.MaxBatchSize != 0 {
		k.add(ruleTensors, "max_batch_size", "write max_batch_size: 0", "repeat backend only supports models with max_batch_size == 0")
	}
	if !k.count(3, 2) {
		return
	}
	in, delay, wait, out, idx := k.in(0), k.in(1), k.in(2), k.out(0), k.out(1)
	k.name("first input", "IN", in)
	k.name("second input", "DELAY", delay)
	k.name("third input", "WAIT", wait)
	k.name("first output", "OUT", out)
	k.name("second output", "IDX", idx)
	shape := tensor.Shape(in.GetDims())
	if len(shape) != 1 {
		k.add(ruleTensors, in.path+".dims", "write dims: [ -1 ]", "expected IN shape to have one dimension, got %s", shape)
	}
	if other := tensor.Shape(delay.GetDims()); !shape.Equal(other) {
		k.add(ruleTensors, delay.path+".dims", "write the dims of IN", "expected IN and DELAY shape to match, got %s and %s", shape, other)
	}
	k.single("WAIT", wait)
	k.single("OUT", out)
	k.single("IDX", idx)
	k.dataType("IN", inferencepb.DataType_TYPE_INT32, in)
	k.dataType("DELAY", inferencepb.DataType_TYPE_UINT32, delay)
	k.dataType("WAIT", inferencepb.DataType_TYPE_UINT32, wait)
	k.dataType("OUT", inferencepb.DataType_TYPE_INT32, out)
	k.dataType("IDX", inferencepb.DataType_TYPE_UINT32, idx)
}
