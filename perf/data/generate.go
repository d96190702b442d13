package data

import (
	"fmt"
	"math/rand/v2"

	"triton/pkg/tensor"
)

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .?!"

// generate makes one step. As in perf_analyzer all fixed-size inputs are a prefix
// of the same bytes, equal in every run, so that runs can be compared.
func generate(o Options, inputs []Tensor) (Step, error) {
	sizes := make([]int64, len(inputs))
	var largest int64
	for i, in := range inputs {
		if in.ShapeTensor {
			return Step{}, fmt.Errorf("can not generate data for shape tensor '%s', user-provided data is needed.", in.Name)
		}
		if dynamic(in.Shape) {
			return Step{}, &DynamicShapeError{in}
		}
		n, err := in.Shape.ByteSize(in.DataType)
		if err != nil || n > maxInput {
			return Step{}, fmt.Errorf("input %s of shape %s is larger than %d bytes", in.Name, in.Shape, int64(maxInput))
		}
		sizes[i] = n
		largest = max(largest, n)
	}
	pool := make([]byte, largest)
	rng := rand.New(rand.NewPCG(1, 1))
	if o.Source == Random {
		fillRandom(pool, rng)
	}
	step := Step{Inputs: map[string]Value{}}
	for i, in := range inputs {
		v := Value{Shape: in.Shape, Data: pool[:sizes[i]]}
		if in.DataType == tensor.Bytes {
			var err error
			if v.Data, err = generateStrings(o, in, rng); err != nil {
				return Step{}, err
			}
		}
		step.Inputs[in.Name] = v
	}
	return step, nil
}

// maxInput bounds a generated input to the size of a gRPC message.
const maxInput = 1<<31 - 1

// DynamicShapeError reports an input with variable dimensions for which Options.Shapes has no
// shape.
type DynamicShapeError struct{ Input Tensor }

func (e *DynamicShapeError) Error() string {
	return fmt.Sprintf("input %s contains dynamic shape, provide shapes to send along with the request", e.Input.Name)
}

func fillRandom(b []byte, rng *rand.Rand) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

func generateStrings(o Options, in Tensor, rng *rand.Rand) ([]byte, error) {
	n, err := in.Shape.Elements()
	length := o.StringLength
	if o.StringData != "" {
		length = len(o.StringData)
	}
	if err != nil || n > maxInput/int64(4+length) {
		return nil, fmt.Errorf("input %s: %s strings of %d bytes are larger than %d bytes together", in.Name, in.Shape, length, int64(maxInput))
	}
	data := make([]byte, 0, int(n)*(4+length))
	text := make([]byte, length)
	for range n {
		if o.StringData != "" {
			copy(text, o.StringData)
		} else if o.Source == Random {
			for i := range text {
				text[i] = alphabet[rng.IntN(len(alphabet))]
			}
		} else {
			text = text[:0]
		}
		data = tensor.AppendElement(data, text)
	}
	return data, nil
}
