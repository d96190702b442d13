package backend

import (
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Signature lists the inputs and outputs of a model as its configuration names them.
// Batches are gathered and scattered by it.
type Signature struct {
	// Batching reports whether the first dimension of every tensor is the
	// batch.
	Batching bool
	Inputs   []Value
	Outputs  []Value
}

// Value is one input or output of a Signature.
type Value struct {
	Name     string
	DataType tensor.DataType
	// Dims is the shape that clients see, without the batch dimension.
	Dims tensor.Shape
	// Reshape is the shape that the backend sees instead of Dims; nil if it is
	// the same. An empty one that is not nil is a scalar.
	Reshape  tensor.Shape
	Optional bool
	// Ragged inputs are concatenated in a batch, whatever their shapes.
	Ragged bool
	Role   Role
	// Kind is the property of the input Source that a batch input holds. An output
	// with a Source is split by the shapes of that input.
	Kind   inferencepb.BatchInput_Kind
	Source string
	// Hidden outputs are not returned to clients.
	Hidden bool
}

// Role is what makes an input or reads an output.
type Role uint8

// The roles.
const (
	Client     Role = iota // the client
	Control                // an input with the position of the request in its sequence
	State                  // implicit state of a sequence
	BatchInput             // an input that describes the batch
)

// NewFullSignature returns the signature that the backend sees. Beside the inputs and
// outputs of clients it has those that the sequence batcher makes and reads, which a
// request carries as extras.
func NewFullSignature(c *inferencepb.ModelConfig) *Signature {
	s := NewSignature(c)
	for _, in := range c.GetSequenceBatching().GetControlInput() {
		s.Inputs = append(s.Inputs, Value{Name: in.GetName(), DataType: controlType(in), Dims: tensor.Shape{1}, Role: Control})
	}
	for _, st := range c.GetSequenceBatching().GetState() {
		v := Value{DataType: tensor.DataType(st.GetDataType()), Dims: st.GetDims(), Role: State}
		v.Name = st.GetInputName()
		s.Inputs = append(s.Inputs, v)
		v.Name = st.GetOutputName()
		if i := slices.IndexFunc(s.Outputs, func(o Value) bool { return o.Name == v.Name }); i >= 0 {
			s.Outputs[i].Role = State // clients may ask for it too
		} else {
			v.Hidden = true
			s.Outputs = append(s.Outputs, v)
		}
	}
	s.addBatchInputs(c)
	return s
}

// controlType returns the element type of a control input.
func controlType(in *inferencepb.ModelSequenceBatching_ControlInput) tensor.DataType {
	for _, c := range in.GetControl() {
		switch {
		case c.GetKind() == inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID:
			return tensor.DataType(c.GetDataType())
		case len(c.GetInt32FalseTrue()) > 0:
			return tensor.Int32
		case len(c.GetFp32FalseTrue()) > 0:
			return tensor.FP32
		}
	}
	return tensor.Bool
}

// NewSignature returns the signature that clients see.
func NewSignature(c *inferencepb.ModelConfig) *Signature {
	s := &Signature{Batching: c.GetMaxBatchSize() > 0}
	for _, in := range c.GetInput() {
		v := value(in.GetName(), in.GetDataType(), in.GetDims(), in.GetReshape(), in.GetOptional())
		v.Ragged = in.GetAllowRaggedBatch()
		s.Inputs = append(s.Inputs, v)
	}
	for _, out := range c.GetOutput() {
		s.Outputs = append(s.Outputs, value(out.GetName(), out.GetDataType(), out.GetDims(), out.GetReshape(), false))
	}
	return s
}

func value(name string, d inferencepb.DataType, dims []int64, r *inferencepb.ModelTensorReshape, optional bool) Value {
	v := Value{Name: name, DataType: tensor.DataType(d), Dims: dims, Optional: optional}
	if r != nil {
		v.Reshape = append(tensor.Shape{}, r.GetShape()...)
	}
	return v
}

// BackendShape returns the shape of the value as the backend sees it, without the batch
// dimension; -1 stands for a dimension that may vary.
func (v *Value) BackendShape() tensor.Shape {
	if v.Reshape != nil {
		return v.Reshape
	}
	return v.Dims
}

// Wants reports whether output i of the batch is needed by a client, or by a sequence
// whose state it is.
func (s *Signature) Wants(b *infer.Batch, i int) bool {
	v := &s.Outputs[i]
	return v.Role == State || b.Wants(v.Name)
}

// wants reports whether the client of r gets the value.
func (v *Value) wants(r *infer.Request) bool { return !v.Hidden && r.Wants(v.Name) }
