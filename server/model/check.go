// The tensors of requests are checked against the signature of a version, in Triton's order and with its
// error texts. They come from clients: no count, shape or length of theirs is believed.

package model

import (
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// checker checks requests against one model version. It is made once at load;
// a request that passes costs no allocation.
type checker struct {
	model    string
	maxBatch int64 // 0: the model does not batch
	sig      *backend.Signature
	required int
}

// newChecker returns the checker of a completed configuration.
func newChecker(c *inferencepb.ModelConfig) *checker {
	k := &checker{model: c.GetName(), maxBatch: int64(c.GetMaxBatchSize()), sig: backend.NewSignature(c)}
	for i := range k.sig.Inputs {
		if !k.sig.Inputs[i].Optional {
			k.required++
		}
	}
	return k
}

// Check completes a raw request, sets the request's batch size and returns the error that Triton
// would report first.
func (k *checker) Check(r *infer.Request) error {
	if r.Raw {
		if err := k.completeRaw(r); err != nil {
			return err
		}
	}
	matched := 0
	for i := range k.sig.Inputs {
		if r.InputNear(i, k.sig.Inputs[i].Name) != nil {
			matched++
		}
	}
	// If a name is unknown or repeated, there are fewer matches than inputs.
	if matched < len(r.Inputs) {
		if name, ok := duplicate(r.Inputs, func(t *kserve.Tensor) string { return t.Name }); ok {
			return invalidRequest(r, "input '%s' already exists in request", name)
		}
	}
	if err := k.outputs(r); err != nil {
		return err
	}
	if n := len(r.Inputs); n > len(k.sig.Inputs) || n < k.required {
		return k.wrongCount(r)
	}
	err := k.inputs(r, nil)
	if err != nil && len(r.Inputs) > 1 { // find the fault that Triton reports first
		err = k.inputs(r, tableOrder(r))
	}
	return err
}

// inputs checks all inputs and sets the batch size. order has the indices in the order of
// the checks; nil is the order of the request.
func (k *checker) inputs(r *infer.Request, order []int) error {
	if err := k.batch(r, order); err != nil {
		return err
	}
	for n := range r.Inputs {
		i := inOrder(order, n)
		t := &r.Inputs[i]
		if err := k.input(r, k.value(t.Name, i), t); err != nil {
			return err
		}
	}
	return nil
}

func inOrder(order []int, n int) int {
	if order == nil {
		return n
	}
	return order[n]
}

// value returns the model's input of that name, which is usually at index i; nil if the
// model has none.
func (k *checker) value(name string, i int) *backend.Value {
	if i < len(k.sig.Inputs) && k.sig.Inputs[i].Name == name {
		return &k.sig.Inputs[i]
	}
	for j := range k.sig.Inputs {
		if k.sig.Inputs[j].Name == name {
			return &k.sig.Inputs[j]
		}
	}
	return nil
}

// outputs returns an error for repeated and unknown outputs. As the names before the first unknown
// one differ, there are no more of them than the model has outputs.
func (k *checker) outputs(r *infer.Request) error {
	for n := range r.Outputs {
		name := r.Outputs[n].Name
		known := n < len(k.sig.Outputs) && k.sig.Outputs[n].Name == name
		for i := 0; !known && i < len(k.sig.Outputs); i++ {
			known = k.sig.Outputs[i].Name == name
		}
		if !known {
			if name, ok := duplicate(r.Outputs, func(o *kserve.RequestedOutput) string { return o.Name }); ok {
				return repeatedOutput(r, name)
			}
			return status.New(status.InvalidArg, "unexpected inference output '%s' for model '%s'", name, k.model)
		}
		for i := range n {
			if r.Outputs[i].Name == name {
				return repeatedOutput(r, name)
			}
		}
	}
	return nil
}

// batch finds the request's batch size and returns an error for unknown inputs.
func (k *checker) batch(r *infer.Request, order []int) error {
	r.Batch = 0
	size, found := int64(0), false
	for n := range r.Inputs {
		i := inOrder(order, n)
		t := &r.Inputs[i]
		if k.value(t.Name, i) == nil {
			return status.New(status.InvalidArg, "unexpected inference input '%s' for model '%s'", t.Name, k.model)
		}
		if k.maxBatch == 0 {
			continue
		}
		if len(t.Shape) == 0 {
			return invalidRequest(r, "input '%s' has no shape but model requires batch dimension for '%s'", t.Name, k.model)
		}
		if !found {
			size, found = t.Shape[0], true
		} else if size != t.Shape[0] {
			return invalidRequest(r, "input '%s' batch size does not match other inputs for '%s'", t.Name, k.model)
		}
	}
	if size > k.maxBatch || size < 0 { // Triton reads it as unsigned
		return invalidRequest(r, "inference request batch-size must be <= %d for '%s'", k.maxBatch, k.model)
	}
	r.Batch = int(size)
	return nil
}

// input checks type, shape and byte size of one input.
func (k *checker) input(r *infer.Request, want *backend.Value, t *kserve.Tensor) error {
	if t.DataType != want.DataType {
		return invalidRequest(r, "inference input '%s' data-type is '%s', but model '%s' expects '%s'",
			want.Name, t.DataType, k.model, want.DataType)
	}
	shape := t.Shape
	if k.maxBatch > 0 {
		shape = shape[1:]
	}
	for _, d := range shape {
		if d == -1 && len(shape) == len(want.Dims) {
			return invalidRequest(r, "All input dimensions should be specified for input '%s' for model '%s', got %s", want.Name, k.model, t.Shape)
		}
	}
	if !fitsShape(shape, want.Dims) {
		return k.wrongShape(r, want, t)
	}
	if r.Batch > 0 { // a batch dimension of 0 counts as none
		shape = t.Shape
	}
	if want.DataType == tensor.Bytes {
		n, err := shape.Elements()
		if err != nil {
			return k.tooLarge(r, want, t, err)
		}
		return k.elements(r, want, t, n)
	}
	size, err := shape.ByteSize(want.DataType)
	if err != nil {
		return k.tooLarge(r, want, t, err)
	}
	if int64(t.Data.Len()) != size {
		return invalidRequest(r, "input byte size mismatch for input '%s' for model '%s'. Expected %d, got %d",
			nameInErrors(r, want), k.model, size, t.Data.Len())
	}
	return nil
}

// fitsShape is tensor.Shape.Matches for shapes of clients, which must not have negative
// dimensions.
func fitsShape(shape, dims tensor.Shape) bool {
	if !shape.Matches(dims) {
		return false
	}
	for _, d := range shape {
		if d < 0 {
			return false
		}
	}
	return true
}
