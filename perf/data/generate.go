package data

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"triton/pkg/tensor"
)

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .?!"

// maxInput bounds a generated input to the size of a gRPC message.
const maxInput = 1<<31 - 1

// generate makes the steps. The same options give the same data in every run, so that runs
// can be compared.
func generate(o Options, inputs []Tensor) ([]Step, error) {
	draws := make([]draw, len(inputs))
	var total int64
	for i, in := range inputs {
		n, err := generatedSize(o, in)
		if err != nil {
			return nil, err
		}
		total += n
		if draws[i], err = numbers(in, o.Ranges); err != nil {
			return nil, err
		}
	}
	count := max(o.Steps, 1)
	if count > 1 && total > maxInput/int64(count) {
		return nil, fmt.Errorf("%d random steps of %d bytes are larger than %d bytes together", count, total, int64(maxInput))
	}
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	steps := make([]Step, count)
	for k := range steps {
		steps[k].Inputs = make(map[string]Value, len(inputs))
		for i, in := range inputs {
			steps[k].Inputs[in.Name] = Value{Shape: in.Shape, Data: generateTensor(o, in, draws[i], rng)}
		}
	}
	return steps, nil
}

// generatedSize returns the number of bytes of a generated input.
func generatedSize(o Options, in Tensor) (int64, error) {
	if in.ShapeTensor {
		return 0, fmt.Errorf("can not generate data for shape tensor '%s', user-provided data is needed.", in.Name)
	}
	if dynamic(in.Shape) {
		return 0, &DynamicShapeError{in}
	}
	if in.DataType == tensor.Bytes {
		n, err := in.Shape.Elements()
		size := int64(4 + stringLength(o))
		if err != nil || n > maxInput/size {
			return 0, fmt.Errorf("input %s: %s strings of %d bytes are larger than %d bytes together", in.Name, in.Shape, size-4, int64(maxInput))
		}
		return n * size, nil
	}
	n, err := in.Shape.ByteSize(in.DataType)
	if err != nil || n > maxInput {
		return 0, fmt.Errorf("input %s of shape %s is larger than %d bytes", in.Name, in.Shape, int64(maxInput))
	}
	return n, nil
}

// DynamicShapeError reports an input with variable dimensions for which Options.Shapes has no
// shape.
type DynamicShapeError struct{ Input Tensor }

func (e *DynamicShapeError) Error() string {
	return fmt.Sprintf("input %s contains dynamic shape, provide shapes to send along with the request", e.Input.Name)
}

// stringLength returns the number of bytes of each generated string.
func stringLength(o Options) int {
	switch {
	case o.StringData != "":
		return len(o.StringData)
	case o.Source == Random:
		return o.StringLength
	}
	return 0
}

// generateTensor returns the data of an input, whose size generatedSize has checked.
func generateTensor(o Options, in Tensor, d draw, rng *rand.Rand) []byte {
	n, _ := in.Shape.Elements()
	if in.DataType == tensor.Bytes {
		return generateStrings(o, int(n), rng)
	}
	size, _ := in.Shape.ByteSize(in.DataType)
	if o.Source != Random {
		return make([]byte, size)
	}
	data := make([]byte, 0, size)
	for range n {
		data = d(data, rng)
	}
	return data
}

func generateStrings(o Options, n int, rng *rand.Rand) []byte {
	text := make([]byte, stringLength(o))
	copy(text, o.StringData)
	data := make([]byte, 0, n*(4+len(text)))
	for range n {
		if o.StringData == "" {
			for i := range text {
				text[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		data = tensor.AppendElement(data, text)
	}
	return data
}

// draw appends a random value to b.
type draw func(b []byte, rng *rand.Rand) []byte

// numbers returns how the values of an input are drawn; nil for strings. perf_analyzer sends
// random bytes. Our defaults are values that models of every kind accept: integers that are
// valid indices of most tables, floats without NaN and Inf, booleans 0 and 1.
func numbers(in Tensor, ranges map[string]Range) (draw, error) {
	r, given := ranges[in.Name]
	d := in.DataType
	var err error
	var next draw
	switch d {
	case tensor.Bool, tensor.Bytes:
		if given {
			return nil, fmt.Errorf("--input-range names the input %q of data type %s; only numbers have a range", in.Name, d)
		}
		if d == tensor.Bool {
			next = func(b []byte, rng *rand.Rand) []byte { return append(b, byte(rng.Uint32()&1)) }
		}
		return next, nil
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		next, err = unsignedRange(d, r, given)
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		next, err = signedRange(d, r, given)
	case tensor.FP16, tensor.BF16, tensor.FP32, tensor.FP64:
		next, err = floatRange(d, r, given)
	default:
		return nil, fmt.Errorf("can not generate data for input '%s' of data type %s, user-provided data is needed.", in.Name, d)
	}
	if err != nil {
		return nil, fmt.Errorf("--input-range %s:%s:%s: %w of data type %s", in.Name, r.Low, r.High, err, d)
	}
	return next, nil
}

var errRange = errors.New("the value must be <name:low:high> with low <= high, two numbers")

// maxInteger is the greatest integer without Options.Ranges, where the data type permits it.
const maxInteger = math.MaxUint8

func unsignedRange(d tensor.DataType, r Range, given bool) (draw, error) {
	size := d.Size()
	low, high := uint64(0), uint64(maxInteger)
	if given {
		var err [2]error
		low, err[0] = strconv.ParseUint(r.Low, 10, 8*size)
		high, err[1] = strconv.ParseUint(r.High, 10, 8*size)
		if err[0] != nil || err[1] != nil || low > high {
			return nil, errRange
		}
	}
	return integers(low, high-low, size), nil
}

func signedRange(d tensor.DataType, r Range, given bool) (draw, error) {
	size := d.Size()
	low, high := int64(0), int64(maxInteger)
	if d == tensor.Int8 {
		high = math.MaxInt8
	}
	if given {
		var err [2]error
		low, err[0] = strconv.ParseInt(r.Low, 10, 8*size)
		high, err[1] = strconv.ParseInt(r.High, 10, 8*size)
		if err[0] != nil || err[1] != nil || low > high {
			return nil, errRange
		}
	}
	return integers(uint64(low), uint64(high)-uint64(low), size), nil
}

// integers draws from low to low+span in two's complement.
func integers(low, span uint64, size int) draw {
	return func(b []byte, rng *rand.Rand) []byte {
		u := rng.Uint64()
		if span < math.MaxUint64 {
			u = low + rng.Uint64N(span+1)
		}
		return tensor.AppendUint(b, u, size)
	}
}

// floatDigits are the binary digits of the significand.
var floatDigits = map[tensor.DataType]uint{tensor.FP16: 11, tensor.BF16: 8, tensor.FP32: 24, tensor.FP64: 53}

// floatRange draws uniformly from low to high. The default is [0, 1).
func floatRange(d tensor.DataType, r Range, given bool) (draw, error) {
	low, high := 0.0, 1.0
	if given {
		var ok [2]bool
		low, ok[0] = finite(r.Low, d)
		high, ok[1] = finite(r.High, d)
		if !ok[0] || !ok[1] || low > high {
			return nil, errRange
		}
	}
	digits := floatDigits[d]
	unit := 1 / float64(uint64(1)<<digits)
	return func(b []byte, rng *rand.Rand) []byte {
		u := float64(rng.Uint64()>>(64-digits)) * unit // below 1 in every data type
		f := low*(1-u) + high*u                        // high-low may be infinite
		return tensor.AppendFloat(b, min(max(f, low), high), d)
	}, nil
}

// finite parses a number that is finite in a data type.
func finite(text string, d tensor.DataType) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > maxFloat[d] {
		return 0, false
	}
	return f, true
}

// maxFloat are the greatest finite numbers.
var maxFloat = map[tensor.DataType]float64{
	tensor.FP16: 65504, tensor.BF16: 0x1.fep127, tensor.FP32: math.MaxFloat32, tensor.FP64: math.MaxFloat64,
}
