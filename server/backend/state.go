package backend

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// UpdateState sets a state for the next request of r's sequence. It takes ownership of
// data. The state is named by its output.
func UpdateState(r *infer.Request, output string, d tensor.DataType, shape tensor.Shape, data tensor.Data) error {
	if r.Membership.States == nil {
		data.Release()
		return status.New(status.InvalidArg, "unable to add state '%s'. State configuration is missing for model '%s'.", output, r.ModelName)
	}
	return r.Membership.States.Update(output, d, shape, data)
}

// span returns the bytes of input i of all requests if they are contiguous in one
// buffer, else nil. That is so for the states of sequences that were in
// the batch before in the same order. Then nothing is copied.
func span(b *infer.Batch, i int, v *Value) []byte {
	var all tensor.Segment
	for k, r := range b.Requests {
		d := &r.InputNear(i, v.Name).Data
		if d.Segments() != 1 || !d.Stable() {
			return nil
		}
		s := d.Segment(0)
		switch {
		case k == 0:
			all = s
		case s.Buffer != all.Buffer || s.Off != all.Off+all.N:
			return nil
		default:
			all.N += s.N
		}
	}
	if !aligned(all.Bytes(), v.DataType) {
		return nil
	}
	return all.Bytes()
}
