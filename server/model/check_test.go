package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// The models of these tests are those with which the errors of Triton's server were recorded.
var checkedConfigs = map[string]string{
	"add_sub": `max_batch_size: 8
		input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [16] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [16] } ]
		output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [16] }, { name: "OUTPUT1" data_type: TYPE_INT32 dims: [16] } ]`,
	"ident": `input [ { name: "IN" data_type: TYPE_FP32 dims: [-1,4] } ]
		output [ { name: "OUT" data_type: TYPE_FP32 dims: [-1,4] } ]`,
	"str": `input [ { name: "IN" data_type: TYPE_STRING dims: [-1] } ]
		output [ { name: "OUT" data_type: TYPE_STRING dims: [-1] } ]`,
	"strone": `max_batch_size: 4
		input [ { name: "IN" data_type: TYPE_STRING dims: [1] } ]
		output [ { name: "OUT" data_type: TYPE_STRING dims: [1] } ]`,
	"opt": `max_batch_size: 4
		input [ { name: "B" data_type: TYPE_INT32 dims: [2] }, { name: "A" data_type: TYPE_INT32 dims: [2] }, { name: "C" data_type: TYPE_INT32 dims: [2] optional: true } ]
		output [ { name: "OUT" data_type: TYPE_INT32 dims: [2] } ]`,
	"zz_reshape": `max_batch_size: 4
		input [ { name: "IN" data_type: TYPE_INT32 dims: [1] reshape { shape: [] } } ]
		output [ { name: "OUT" data_type: TYPE_INT32 dims: [1] reshape { shape: [] } } ]`,
	"two2": `max_batch_size: 4
		input [ { name: "IN" data_type: TYPE_INT32 dims: [-1,-1] } ]
		output [ { name: "OUT" data_type: TYPE_INT32 dims: [-1,-1] } ]`,
}

func checkerOf(t testing.TB, model string) *checker {
	t.Helper()
	c, err := modelconfig.Parse(model, []byte("name: \""+model+"\"\n"+checkedConfigs[model]))
	require.NoError(t, err)
	return newChecker(c.ModelConfig)
}

// testInput is one input of a test's request; without bytes it gets as many as its
// shape needs.
type testInput struct {
	name  string
	dtype tensor.DataType
	shape tensor.Shape
	bytes []byte
}

func int32Input(name string, shape ...int64) testInput {
	return testInput{name: name, dtype: tensor.Int32, shape: shape}
}

func fp32Input(name string, shape ...int64) testInput {
	return testInput{name: name, dtype: tensor.FP32, shape: shape}
}

func (i testInput) data(t testing.TB) []byte {
	if i.bytes != nil {
		return i.bytes
	}
	n, err := i.shape.ByteSize(i.dtype)
	require.NoError(t, err)
	return make([]byte, n)
}

func bytesElements(texts ...string) []byte {
	b := []byte{}
	for _, s := range texts {
		b = tensor.AppendElementString(b, s)
	}
	return b
}

func requestOf(t testing.TB, inputs []testInput, outputs ...string) *infer.Request {
	r := infer.NewRequest()
	t.Cleanup(func() { r.Release(); r.Release() })
	for _, i := range inputs {
		x := r.AddInput()
		x.Name, x.DataType, x.Shape = i.name, i.dtype, append(x.Shape, i.shape...)
		x.Data = tensor.NewData(tensor.HeapBuffer(i.data(t)))
	}
	for _, o := range outputs {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: o})
	}
	return r
}

const unknownID = "[request id: <id_unknown>] "

// TestCheckRequests compares with the errors of Triton's server 2.51 for the same requests. If several
// inputs are wrong, the error names the one that is first in Triton's hash table.
func TestCheckRequests(t *testing.T) {
	t.Parallel()
	a, b := int32Input("INPUT0", 1, 16), int32Input("INPUT1", 1, 16)
	shapeText := func(input, model, expected, got string, note bool) string {
		s := unknownID + "unexpected shape for input '" + input + "' for model '" + model + "'. Expected " + expected + ", got " + got + ". "
		if note {
			s += batchNote
		}
		return s
	}
	for _, c := range []struct {
		name, model string
		id          string
		inputs      []testInput
		outputs     []string
		want        string // empty: fine
	}{
		{name: "fine", model: "add_sub", inputs: []testInput{a, b}, outputs: []string{"OUTPUT1"}},
		{name: "other order", model: "add_sub", inputs: []testInput{b, a}},
		{name: "full batch", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 8, 16), int32Input("INPUT1", 8, 16)}},
		{name: "input twice", model: "add_sub", inputs: []testInput{a, a}, want: unknownID + "input 'INPUT0' already exists in request"},
		{name: "input twice and all", model: "add_sub", inputs: []testInput{a, a, b}, want: unknownID + "input 'INPUT0' already exists in request"},
		{name: "output twice", model: "add_sub", inputs: []testInput{a, b}, outputs: []string{"OUTPUT0", "OUTPUT1", "OUTPUT0"}, want: unknownID + "output 'OUTPUT0' already exists in request"},
		{name: "output twice, with id", model: "add_sub", id: "7", inputs: []testInput{a, b}, outputs: []string{"OUTPUT0", "OUTPUT0"}, want: "[request id: 7] output 'OUTPUT0' already exists in request"},
		{name: "unknown output, another twice", model: "add_sub", inputs: []testInput{a, b}, outputs: []string{"Z", "OUTPUT0", "OUTPUT0"}, want: unknownID + "output 'OUTPUT0' already exists in request"},
		{name: "input before output twice", model: "add_sub", inputs: []testInput{a, a}, outputs: []string{"OUTPUT0", "OUTPUT0"}, want: unknownID + "input 'INPUT0' already exists in request"},
		{name: "unknown output", model: "add_sub", inputs: []testInput{a, b}, outputs: []string{"OUTPUT0", "OUTPUT9"}, want: "unexpected inference output 'OUTPUT9' for model 'add_sub'"},
		{name: "too few", model: "add_sub", inputs: []testInput{a}, want: unknownID + "expected 2 inputs but got 1 inputs for model 'add_sub'. Got input(s) ['INPUT0'], but missing required input(s) ['INPUT1']. Please provide all required input(s)."},
		{name: "with id", model: "add_sub", id: "x7", inputs: []testInput{a}, want: "[request id: x7] expected 2 inputs but got 1 inputs for model 'add_sub'. Got input(s) ['INPUT0'], but missing required input(s) ['INPUT1']. Please provide all required input(s)."},
		{name: "none", model: "add_sub", want: unknownID + "expected 2 inputs but got 0 inputs for model 'add_sub'. Got input(s) [], but missing required input(s) ['INPUT0','INPUT1']. Please provide all required input(s)."},
		{name: "too many", model: "add_sub", inputs: []testInput{a, b, int32Input("Z", 1, 16)}, want: unknownID + "expected 2 inputs but got 3 inputs for model 'add_sub'. Got input(s) ['Z','INPUT1','INPUT0'], but missing required input(s) ]. Please provide all required input(s)."},
		{name: "too few and unknown", model: "add_sub", inputs: []testInput{int32Input("Z", 1, 16)}, want: unknownID + "expected 2 inputs but got 1 inputs for model 'add_sub'. Got input(s) ['Z'], but missing required input(s) ['INPUT0','INPUT1']. Please provide all required input(s)."},
		{name: "unknown input", model: "add_sub", inputs: []testInput{a, int32Input("Z", 1, 16)}, want: "unexpected inference input 'Z' for model 'add_sub'"},
		{name: "unknown output before unknown input", model: "add_sub", inputs: []testInput{a, int32Input("Z", 1, 16)}, outputs: []string{"OUTPUT9"}, want: "unexpected inference output 'OUTPUT9' for model 'add_sub'"},
		{name: "unknown input before batch", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 9, 16), int32Input("AAA", 1, 16)}, want: "unexpected inference input 'AAA' for model 'add_sub'"},
		{name: "no shape, given after an unknown", model: "add_sub", inputs: []testInput{int32Input("ZZZ", 1), {"INPUT0", tensor.Int32, nil, []byte{0, 0, 0, 0}}}, want: unknownID + "input 'INPUT0' has no shape but model requires batch dimension for 'add_sub'"},
		{name: "no shape", model: "add_sub", inputs: []testInput{{"INPUT0", tensor.Int32, nil, []byte{0, 0, 0, 0}}, b}, want: unknownID + "input 'INPUT0' has no shape but model requires batch dimension for 'add_sub'"},
		{name: "batches differ", model: "add_sub", inputs: []testInput{a, int32Input("INPUT1", 2, 16)}, want: unknownID + "input 'INPUT0' batch size does not match other inputs for 'add_sub'"},
		{name: "batches differ, other order", model: "add_sub", inputs: []testInput{int32Input("INPUT1", 2, 16), a}, want: unknownID + "input 'INPUT1' batch size does not match other inputs for 'add_sub'"},
		{name: "batch too large", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 9, 16), int32Input("INPUT1", 9, 16)}, want: unknownID + "inference request batch-size must be <= 8 for 'add_sub'"},
		{name: "negative batch", model: "add_sub", inputs: []testInput{{"INPUT0", tensor.Int32, tensor.Shape{-1, 16}, make([]byte, 64)}, {"INPUT1", tensor.Int32, tensor.Shape{-1, 16}, make([]byte, 64)}}, want: unknownID + "inference request batch-size must be <= 8 for 'add_sub'"},
		{name: "batch of none", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 0, 16), int32Input("INPUT1", 0, 16)}, want: unknownID + "input byte size mismatch for input 'INPUT1' for model 'add_sub'. Expected 64, got 0"},
		{name: "type", model: "add_sub", inputs: []testInput{a, fp32Input("INPUT1", 1, 16)}, want: unknownID + "inference input 'INPUT1' data-type is 'FP32', but model 'add_sub' expects 'INT32'"},
		{name: "no type", model: "ident", inputs: []testInput{{"IN", tensor.Invalid, tensor.Shape{1, 4}, make([]byte, 16)}}, want: unknownID + "inference input 'IN' data-type is '<invalid>', but model 'ident' expects 'FP32'"},
		{name: "shape", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 1, 8), b}, want: shapeText("INPUT0", "add_sub", "[-1,16]", "[1,8]", true)},
		{name: "rank as batch", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 16), int32Input("INPUT1", 16)}, want: unknownID + "inference request batch-size must be <= 8 for 'add_sub'"},
		{name: "rank too low", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 1), int32Input("INPUT1", 1)}, want: shapeText("INPUT1", "add_sub", "[-1,16]", "[1]", true)},
		{name: "rank too high", model: "add_sub", inputs: []testInput{int32Input("INPUT0", 1, 1, 16), int32Input("INPUT1", 1, 1, 16)}, want: shapeText("INPUT1", "add_sub", "[-1,16]", "[1,1,16]", true)},
		{name: "two types", model: "add_sub", inputs: []testInput{fp32Input("INPUT0", 1, 16), fp32Input("INPUT1", 1, 16)}, want: unknownID + "inference input 'INPUT1' data-type is 'FP32', but model 'add_sub' expects 'INT32'"},
		{name: "two unknown", model: "add_sub", inputs: []testInput{int32Input("R", 1), int32Input("Q", 1)}, want: "unexpected inference input 'Q' for model 'add_sub'"},
		{name: "two shapes", model: "add_sub", inputs: []testInput{int32Input("INPUT1", 1, 8), int32Input("INPUT0", 1, 7)}, want: shapeText("INPUT0", "add_sub", "[-1,16]", "[1,7]", true)},
		{name: "shape without batching", model: "ident", inputs: []testInput{fp32Input("IN", 2, 5)}, want: shapeText("IN", "ident", "[-1,4]", "[2,5]", false)},
		{name: "rank without batching", model: "ident", inputs: []testInput{fp32Input("IN", 4)}, want: shapeText("IN", "ident", "[-1,4]", "[4]", false)},
		{name: "scalar", model: "ident", inputs: []testInput{fp32Input("IN")}, want: shapeText("IN", "ident", "[-1,4]", "[]", false)},
		{name: "variable of none", model: "ident", inputs: []testInput{fp32Input("IN", 0, 4)}},
		{name: "unspecified dimension", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{-1, 4}, make([]byte, 64)}}, want: unknownID + "All input dimensions should be specified for input 'IN' for model 'ident', got [-1,4]"},
		{name: "unspecified dimension of another rank", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{-1}, make([]byte, 64)}}, want: shapeText("IN", "ident", "[-1,4]", "[-1]", false)},
		{name: "negative dimension", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{-3, 4}, make([]byte, 64)}}, want: shapeText("IN", "ident", "[-1,4]", "[-3,4]", false)},
		{name: "too few bytes", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{2, 4}, make([]byte, 28)}}, want: unknownID + "input byte size mismatch for input 'IN' for model 'ident'. Expected 32, got 28"},
		{name: "too many bytes", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{2, 4}, make([]byte, 36)}}, want: unknownID + "input byte size mismatch for input 'IN' for model 'ident'. Expected 32, got 36"},
		{name: "element count overflows", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{1 << 62, 4}, make([]byte, 16)}}, want: unknownID + "shape [4611686018427387904,4] of input 'IN' for model 'ident' is too large: element count exceeds 9223372036854775807"},
		{name: "byte size overflows", model: "ident", inputs: []testInput{{"IN", tensor.FP32, tensor.Shape{1 << 60, 4}, make([]byte, 16)}}, want: unknownID + "shape [1152921504606846976,4] of input 'IN' for model 'ident' is too large: element count exceeds 9223372036854775807"},
		{name: "optional absent", model: "opt", inputs: []testInput{int32Input("A", 1, 2), int32Input("B", 1, 2)}},
		{name: "optional in place of required", model: "opt", inputs: []testInput{int32Input("A", 1, 2), int32Input("C", 1, 2)}},
		{name: "optional: too few", model: "opt", inputs: []testInput{int32Input("A", 1, 2)}, want: unknownID + "expected number of inputs between 2 and 3 but got 1 inputs for model 'opt'. Got input(s) ['A'], but missing required input(s) ['B']. Please provide all required input(s)."},
		{name: "optional: none", model: "opt", want: unknownID + "expected number of inputs between 2 and 3 but got 0 inputs for model 'opt'. Got input(s) [], but missing required input(s) ['B','A']. Please provide all required input(s)."},
		{name: "optional: too many", model: "opt", inputs: []testInput{int32Input("A", 1, 2), int32Input("B", 1, 2), int32Input("C", 1, 2), int32Input("D", 1, 2)}, want: unknownID + "expected number of inputs between 2 and 3 but got 4 inputs for model 'opt'. Got input(s) ['B','D','C','A'], but missing required input(s) ]. Please provide all required input(s)."},
		{name: "optional: unknown", model: "opt", inputs: []testInput{int32Input("A", 1, 2), int32Input("B", 1, 2), int32Input("D", 1, 2)}, want: "unexpected inference input 'D' for model 'opt'"},
		{name: "strings", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{3}, bytesElements("a", "", "bcd")}}},
		{name: "no strings", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{0}, []byte{}}}},
		{name: "too few strings", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{3}, bytesElements("a", "b")}}, want: unknownID + "expected 3 string elements for inference input 'IN' for model 'str', got 2"},
		{name: "too many strings", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{1}, bytesElements("a", "b", "c")}}, want: unknownID + "unexpected number of string elements 2 for inference input 'IN' for model 'str', expecting 1"},
		{name: "strings where none", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{0}, bytesElements("a")}}, want: unknownID + "unexpected number of string elements 1 for inference input 'IN' for model 'str', expecting 0"},
		{name: "truncated length", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{2}, append(bytesElements("a"), 1, 0)}}, want: unknownID + "incomplete string length indicator for inference input 'IN' for model 'str', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer."},
		{name: "truncated last string", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{1}, []byte{5, 0, 0, 0, 'a', 'b'}}}, want: "incomplete string data for inference input 'IN', expecting string of length 5 but only 2 bytes available"},
		{name: "truncated only string", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{2}, []byte{5, 0, 0, 0, 'a', 'b'}}}, want: unknownID + "expected 2 string elements for inference input 'IN' for model 'str', got 1"},
		{name: "huge string count", model: "str", inputs: []testInput{{"IN", tensor.Bytes, tensor.Shape{1<<63 - 1}, []byte{}}}, want: unknownID + "expected 9223372036854775807 string elements for inference input 'IN' for model 'str', got 0"},
		{name: "reshape", model: "zz_reshape", inputs: []testInput{int32Input("IN", 2, 1)}},
		{name: "reshape: clients' shape", model: "zz_reshape", inputs: []testInput{int32Input("IN", 2)}, want: shapeText("IN", "zz_reshape", "[-1,1]", "[2]", true)},
		{name: "two variable", model: "two2", inputs: []testInput{int32Input("IN", 2, 2, 3)}},
		{name: "two variable, rank", model: "two2", inputs: []testInput{int32Input("IN", 2, 2)}, want: shapeText("IN", "two2", "[-1,-1,-1]", "[2,2]", true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := requestOf(t, c.inputs, c.outputs...)
			r.ID = c.id
			err := checkerOf(t, c.model).Check(r)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
			require.Equal(t, status.InvalidArg, status.CodeOf(err))
		})
	}
}

// TestCheckRaw is TestCheckRequests for requests that are bytes alone.
func TestCheckRaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		bytes       []byte
		shape       tensor.Shape
		want        string
	}{
		{"variable", "ident", make([]byte, 32), tensor.Shape{2, 4}, ""},
		{"empty", "ident", nil, tensor.Shape{0, 4}, ""},
		{"fixed", "zz_reshape", make([]byte, 4), tensor.Shape{1, 1}, ""},
		{"string", "strone", []byte("abc"), tensor.Shape{1, 1}, ""},
		{"several inputs", "add_sub", make([]byte, 64), nil, unknownID + "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'add_sub' model configuration"},
		{"not a multiple", "ident", make([]byte, 30), nil, unknownID + "input byte size mismatch for input 'raw_input' for model 'ident'. Expected 16, got 30"},
		{"less than a row", "ident", make([]byte, 8), nil, unknownID + "input byte size mismatch for input 'raw_input' for model 'ident'. Expected 0, got 8"},
		{"not the fixed size", "zz_reshape", make([]byte, 8), nil, unknownID + "input byte size mismatch for input 'raw_input' for model 'zz_reshape'. Expected 4, got 8"},
		{"string of variable shape", "str", []byte("abc"), nil, unknownID + "For BYTE datatype raw input 'IN', the model must have input shape [1]"},
		{"two variable", "two2", make([]byte, 16), nil, unknownID + "The shape of the raw input 'IN' can not be deduced because there are more than one variable-sized dimension"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := requestOf(t, []testInput{{bytes: append([]byte{}, c.bytes...)}})
			r.Raw = true
			err := checkerOf(t, c.model).Check(r)
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "IN", r.Inputs[0].Name)
			require.Equal(t, c.shape, r.Inputs[0].Shape)
			if c.model == "strone" {
				got := make([]byte, r.Inputs[0].Data.Len())
				r.Inputs[0].Data.CopyTo(got)
				require.Equal(t, bytesElements("abc"), got)
			}
		})
	}
}

func TestCheckSetsBatch(t *testing.T) {
	t.Parallel()
	r := requestOf(t, []testInput{int32Input("INPUT0", 3, 16), int32Input("INPUT1", 3, 16)}, "OUTPUT1", "OUTPUT0")
	require.NoError(t, checkerOf(t, "add_sub").Check(r))
	require.Equal(t, 3, r.Batch)
	require.Len(t, r.Outputs, 2)
	r = requestOf(t, []testInput{fp32Input("IN", 3, 4)})
	require.NoError(t, checkerOf(t, "ident").Check(r))
	require.Equal(t, 0, r.Batch)
}

// TestCheckHostileCounts sends very many inputs and outputs: the work must not
// grow with their square.
func TestCheckHostileCounts(t *testing.T) {
	t.Parallel()
	var inputs []testInput
	var outputs []string
	for i := range 20000 {
		inputs = append(inputs, testInput{name: fmt.Sprint(i), dtype: tensor.Int32, bytes: []byte{}})
		outputs = append(outputs, fmt.Sprint(i))
	}
	k := checkerOf(t, "add_sub")
	require.ErrorContains(t, k.Check(requestOf(t, inputs)), "expected 2 inputs but got 20000 inputs")
	require.ErrorContains(t, k.Check(requestOf(t, inputs, outputs...)), "unexpected inference output '0'")
	require.ErrorContains(t, k.Check(requestOf(t, inputs, append(outputs, "7")...)), "output '7' already exists in request")
}

// TestElementsOverSegments splits a tensor into segments at every position.
func TestElementsOverSegments(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	k := checkerOf(t, "str")
	for range 300 {
		var texts []string
		for range rng.IntN(5) {
			texts = append(texts, strings.Repeat("x", rng.IntN(9)))
		}
		whole := bytesElements(texts...)
		r := requestOf(t, []testInput{{"IN", tensor.Bytes, tensor.Shape{int64(len(texts))}, whole[:0]}})
		d := &r.Inputs[0].Data
		d.Release()
		for at := 0; at < len(whole); {
			n := min(1+rng.IntN(6), len(whole)-at)
			b := tensor.HeapBuffer(whole[at : at+n])
			d.Append(b, 0, n)
			b.Release()
			at += n
		}
		require.NoError(t, k.Check(r), "%q", texts)
	}
}

// FuzzElements compares the walk over segments with the plain one.
func FuzzElements(f *testing.F) {
	f.Add(bytesElements("a", "bc"), uint8(3), int64(2))
	f.Add([]byte{5, 0, 0, 0, 'a'}, uint8(1), int64(1))
	f.Add([]byte{255, 255, 255, 255}, uint8(1), int64(1))
	k := checkerOf(f, "str")
	f.Fuzz(func(t *testing.T, whole []byte, size uint8, want int64) {
		r := requestOf(t, []testInput{{"IN", tensor.Bytes, tensor.Shape{max(want, 0)}, []byte{}}})
		d := &r.Inputs[0].Data
		d.Release()
		for rest := whole; len(rest) > 0; {
			n := min(int(size%7)+1, len(rest))
			b := tensor.HeapBuffer(rest[:n])
			d.Append(b, 0, n)
			b.Release()
			rest = rest[n:]
		}
		n, err := tensor.CountElements(whole)
		fine := err == nil && int64(n) == max(want, 0)
		require.Equal(t, fine, k.Check(r) == nil)
	})
}

func TestCheckAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		model  string
		inputs []testInput
	}{
		{"add_sub", []testInput{int32Input("INPUT0", 1, 16), int32Input("INPUT1", 1, 16)}},
		{"add_sub", []testInput{int32Input("INPUT1", 1, 16), int32Input("INPUT0", 1, 16)}},
		{"str", []testInput{{"IN", tensor.Bytes, tensor.Shape{2}, bytesElements("a", "b")}}},
	} {
		k, r := checkerOf(t, c.model), requestOf(t, c.inputs)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if k.Check(r) != nil {
				panic("refused")
			}
		}))
	}
}

func BenchmarkCheckRequest(b *testing.B) {
	k := checkerOf(b, "add_sub")
	r := requestOf(b, []testInput{int32Input("INPUT0", 1, 16), int32Input("INPUT1", 1, 16)}, "OUTPUT0", "OUTPUT1")
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Check(r); err != nil {
			b.Fatal(err)
		}
	}
}
