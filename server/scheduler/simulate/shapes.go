package simulate

import (
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// shapes gives requests the inputs by which the policy distinguishes them, without data.
type shapes struct {
	inputs   []*inferencepb.ModelInput
	batching bool
}

func newShapes(cfg *inferencepb.ModelConfig) shapes {
	s := shapes{batching: cfg.GetMaxBatchSize() > 0}
	for _, in := range cfg.GetInput() {
		if slices.Contains(in.GetDims(), -1) {
			s.inputs = append(s.inputs, in)
		}
	}
	return s
}

// set gives a new or reused request a shape.
func (s *shapes) set(r *infer.Request, class int64) {
	for i, in := range s.inputs {
		if len(r.Inputs) <= i {
			t := r.AddInput()
			t.Name, t.DataType = in.GetName(), tensor.DataType(in.GetDataType())
		}
		t := &r.Inputs[i]
		t.Shape = t.Shape[:0]
		if s.batching {
			t.Shape = append(t.Shape, int64(r.Rows()))
		}
		for _, d := range in.GetDims() {
			if d == -1 {
				d = class
			}
			t.Shape = append(t.Shape, d)
		}
	}
}
