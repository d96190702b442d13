package onnxmodel

import (
	"fmt"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/spelling"
	"triton/pkg/tensor"
)

// controls checks the sequence controls against the graph's inputs and returns the
// number of inputs that they use.
func (c *checker) controls() int {
	count := 0
	for i, in := range c.cfg.GetSequenceBatching().GetControlInput() {
		path := fmt.Sprintf("sequence_batching.control_input[%d]", i)
		for _, control := range in.Control {
			count++
			c.control(path, in.Name, controlType(control))
		}
	}
	return count
}

// controlType returns the element type of a control.
func controlType(c *pb.ModelSequenceBatching_Control) pb.DataType {
	switch {
	case c.Kind == pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID:
		return c.DataType
	case len(c.Int32FalseTrue) > 0:
		return pb.DataType_TYPE_INT32
	case len(c.Fp32FalseTrue) > 0:
		return pb.DataType_TYPE_FP32
	}
	return pb.DataType_TYPE_BOOL
}

func (c *checker) control(path, name string, want pb.DataType) {
	v, ok := c.graph.Input(name)
	if !ok {
		list := valueNames(c.graph.Inputs)
		c.add(ruleControl, path+".name", spelling.Hint(name, strings.Split(list, ", "), "the graph has "+list),
			"configuration specified sequence control '%s', but model does not provide that input", name)
		c.internal()
		return
	}
	item := v.Dims
	if c.cfg.MaxBatchSize > 0 && len(item) > 0 {
		item = item[1:]
	}
	if len(item) > 1 || len(item) == 1 && item[0] != 1 {
		c.add(ruleControl, path, "export the model with one value per item", "unable to load model '%s', sequence control '%s' in model "+
			"has dims %s but dims [1] is expected", c.cfg.Name, name, tensor.Shape(v.Dims))
	}
	c.scalar(path, v)
	if ElemTypeOf(tensor.DataType(want)) != v.Elem {
		c.add(ruleControl, path, "use the graph's type", "unable to load model '%s', sequence control '%s', the model expects data-type "+
			"%s but the model configuration specifies data-type %s", c.cfg.Name, name, v.Elem, want)
	}
}
