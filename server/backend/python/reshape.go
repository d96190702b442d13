package python

import (
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// reshapes are the tensors that clients and the model see with different shapes, by name; nil if
// there are none.
type reshapes map[string]reshape

// reshape is the dimensions of a tensor without those of the batch, before and after.
type reshape struct{ from, to tensor.Shape }

// reshapesOf returns the inputs and the outputs with a reshape in the configuration.
func reshapesOf(c *inferencepb.ModelConfig) (inputs, outputs reshapes) {
	for _, in := range c.GetInput() {
		if r := in.GetReshape(); r != nil {
			inputs = inputs.with(in.GetName(), reshape{in.GetDims(), r.GetShape()})
		}
	}
	for _, out := range c.GetOutput() {
		if r := out.GetReshape(); r != nil {
			outputs = outputs.with(out.GetName(), reshape{r.GetShape(), out.GetDims()})
		}
	}
	return inputs, outputs
}

func (all reshapes) with(name string, r reshape) reshapes {
	if all == nil {
		all = reshapes{}
	}
	all[name] = r
	return all
}

// shape returns the other shape of a tensor, or its own if it has no reshape. lead is the number
// of dimensions of the batch.
func (all reshapes) shape(t *kserve.Tensor, lead int) tensor.Shape {
	r, ok := all[t.Name]
	if !ok {
		return t.Shape
	}
	lead = min(lead, len(t.Shape))
	return tensor.AppendReshaped(t.Shape[:lead:lead], t.Shape[lead:], r.from, r.to)
}

// reshapeOutput gives an output the shape that clients see.
func (m *model) reshapeOutput(t *kserve.Tensor) error {
	shape := m.outputShapes.shape(t, m.lead)
	before, _ := t.Shape.Elements() // both were checked against the data before
	after, err := shape.Elements()
	if err != nil || before != after {
		return status.New(status.Internal, "output '%s' of shape %s does not fit the reshape of its configuration, which makes it %s", t.Name, t.Shape, shape)
	}
	t.Shape = shape
	return nil
}
