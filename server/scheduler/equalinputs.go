package scheduler

import (
	"bytes"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// EqualInputs holds the inputs that must be equal for requests to share a batch: inputs of
// variable size must have the same shape, and shape tensors the same contents too. If the
// model has optional inputs, the requests must have the same inputs.
type EqualInputs struct {
	inputs    []equalInput
	optional  bool
	batchDims int // leading dimensions that belong to the batch
}

type equalInput struct {
	name     string
	contents bool // not only the shape
}

// NewEqualInputs reads the rules from a configuration.
func NewEqualInputs(cfg *inferencepb.ModelConfig) EqualInputs {
	var e EqualInputs
	if cfg.GetMaxBatchSize() > 0 {
		e.batchDims = 1
	}
	for _, in := range cfg.GetInput() {
		e.optional = e.optional || in.GetOptional()
		switch {
		case in.GetIsShapeTensor():
			e.inputs = append(e.inputs, equalInput{in.GetName(), true})
		case slices.Contains(in.GetDims(), -1) && !in.GetAllowRaggedBatch():
			e.inputs = append(e.inputs, equalInput{in.GetName(), false})
		}
	}
	return e
}

// Equal reports whether two requests may share a batch.
func (e *EqualInputs) Equal(a, b *infer.Request) bool {
	if e.optional && !sameNames(a, b) {
		return false
	}
	for i := range e.inputs {
		in := &e.inputs[i]
		x, y := a.Input(in.name), b.Input(in.name)
		if x == nil || y == nil {
			if x != y {
				return false
			}
			continue
		}
		if !e.matchInput(in, x, y) {
			return false
		}
	}
	return true
}

func (e *EqualInputs) matchInput(in *equalInput, x, y *kserve.Tensor) bool {
	if in.contents {
		return slices.Equal(x.Shape, y.Shape) && sameContents(&x.Data, &y.Data)
	}
	n := len(x.Shape)
	return n == len(y.Shape) && n >= e.batchDims && slices.Equal(x.Shape[e.batchDims:], y.Shape[e.batchDims:])
}

// sameContents compares bytes in any segmentation. Data that cannot be read, because it
// is on a device or the client truncated its memory, equals nothing.
func sameContents(x, y *tensor.Data) bool {
	if x.Len() != y.Len() {
		return false
	}
	p, ok := contents(x)
	q, ok2 := contents(y)
	return ok && ok2 && bytes.Equal(p, q)
}

func contents(d *tensor.Data) ([]byte, bool) {
	foreign := false
	for i := range d.Segments() {
		b := d.Segment(i).Buffer
		if b.Device() != nil {
			return nil, false
		}
		foreign = foreign || b.Foreign()
	}
	if p, ok := d.Contiguous(); ok && !foreign {
		return p, true
	}
	p := make([]byte, d.Len())
	return p, tensor.CopyShared(p, d) == nil
}

func sameNames(a, b *infer.Request) bool {
	if len(a.Inputs) != len(b.Inputs) {
		return false
	}
	for i := range a.Inputs {
		if b.Input(a.Inputs[i].Name) == nil {
			return false
		}
	}
	return true
}
