//go:build cgo && (linux || darwin)

package onnx

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// identity copies input x to output y.
func identity(e onnxmodel.ElemType, dims ...any) *onnxmodel.File {
	return &onnxmodel.File{
		Nodes:   []onnxmodel.Node{{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("x", e, dims...)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("y", e, dims...)},
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	const rows, row = 3, 5
	for _, d := range tensor.DataTypes() {
		var data []byte
		if d == tensor.Bytes {
			for k := range rows * row {
				data = tensor.AppendElementString(data, fmt.Sprintf("%d\x00\xff\xfe%d", k, k*k)[:k%6])
			}
		}
		for k := range rows * row * d.Size() {
			data = append(data, byte(k%2)) // bytes that are a valid BOOL too
		}
		// Named dimensions: outputs are written into our memory. Nameless ones:
		// ONNX Runtime allocates them and they are lent.
		for _, batch := range []any{"n", -1} {
			t.Run(fmt.Sprintf("%s/%v", d, batch), func(t *testing.T) {
				t.Parallel()
				w := load(t, specOf(t, identity(onnxmodel.ElemTypeOf(d), batch, row), 8))
				in := input{"x", d, tensor.Shape{rows, row}, data}
				out, err := w.infer(w.inst, w.request(rows, in))
				require.NoError(t, err)
				require.Equal(t, data, bytesOf(t, out[0], "y"))
				require.Equal(t, in.shape, out[0].Output("y").Shape)
				require.Equal(t, d, out[0].Output("y").DataType)
				out[0].Release()

				both, err := w.infer(w.inst, w.request(rows, in), w.request(rows, in))
				require.NoError(t, err)
				for _, resp := range both {
					require.Equal(t, data, bytesOf(t, resp, "y"))
					resp.Release()
				}
			})
		}
	}
}

func TestZeroElements(t *testing.T) {
	t.Parallel()
	for _, d := range []tensor.DataType{tensor.FP32, tensor.Bytes} {
		for _, dims := range [][]any{{"n", "k"}, {-1, -1}} {
			w := load(t, specOf(t, identity(onnxmodel.ElemTypeOf(d), dims...), 0))
			out, err := w.infer(w.inst, w.request(0, input{"x", d, tensor.Shape{0, 4}, nil}))
			require.NoError(t, err)
			require.Equal(t, tensor.Shape{0, 4}, out[0].Output("y").Shape)
			require.Empty(t, bytesOf(t, out[0], "y"))
			out[0].Release()
		}
	}
}

func TestScalarOutput(t *testing.T) {
	t.Parallel()
	f := &onnxmodel.File{
		Nodes: []onnxmodel.Node{{
			Op: "ReduceSum", Inputs: []string{"x"}, Outputs: []string{"y"},
			Attrs: []onnxmodel.Attr{onnxmodel.IntAttr("keepdims", 0)},
		}},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("x", onnxmodel.Int32, "n")},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("y", onnxmodel.Int32)},
	}
	w := load(t, specOf(t, f, 0))
	out, err := w.infer(w.inst, w.request(0, input{"x", tensor.Int32, tensor.Shape{3}, int32s(1, 2, 39)}))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{1}, out[0].Output("y").Shape)
	require.Equal(t, int32s(42), bytesOf(t, out[0], "y"))
	out[0].Release()
}

// A graph whose output is its input must not lend memory that ends with the
// batch.
func TestPassedThrough(t *testing.T) {
	t.Parallel()
	for _, dims := range [][]any{{"n"}, {-1}} {
		f := identity(onnxmodel.Int32, dims...)
		f.Outputs = append(f.Outputs, f.Inputs[0])
		w := load(t, specOf(t, f, 0))
		out, err := w.infer(w.inst, w.request(0, input{"x", tensor.Int32, tensor.Shape{2}, int32s(7, 8)}))
		require.NoError(t, err)
		again, err := w.infer(w.inst, w.request(0, input{"x", tensor.Int32, tensor.Shape{2}, int32s(1, 2)}))
		require.NoError(t, err)
		require.Equal(t, int32s(7, 8), bytesOf(t, out[0], "x"))
		require.Equal(t, int32s(1, 2), bytesOf(t, again[0], "x"))
		out[0].Release()
		again[0].Release()
	}
}

// Outputs that no node computes at run time: a weight itself, and what the
// ONNX Runtime folds into one.
func TestConstantOutputs(t *testing.T) {
	t.Parallel()
	f := identity(onnxmodel.Int64, "n")
	f.Weights = append(f.Weights, onnxmodel.Ints("two", []int64{1}, 2), onnxmodel.Ints("three", []int64{1}, 3))
	f.Nodes = append(f.Nodes,
		onnxmodel.Node{Op: "Add", Inputs: []string{"two", "three"}, Outputs: []string{"five"}},
		onnxmodel.Node{Op: "Identity", Inputs: []string{"three"}, Outputs: []string{"same"}})
	for _, name := range []string{"two", "five", "same"} {
		f.Outputs = append(f.Outputs, onnxmodel.Tensor(name, onnxmodel.Int64, 1))
	}
	w := load(t, specOf(t, f, 0))
	in := input{"x", tensor.Int64, tensor.Shape{1}, []byte{9, 0, 0, 0, 0, 0, 0, 0}}
	for range 3 {
		out, err := w.infer(w.inst, w.request(0, in))
		require.NoError(t, err)
		for name, n := range map[string]byte{"y": 9, "two": 2, "five": 5, "same": 3} {
			require.Equal(t, []byte{n, 0, 0, 0, 0, 0, 0, 0}, bytesOf(t, out[0], name), name)
		}
		out[0].Release()
	}
}

// A model may declare an output shape that is not so.
func TestDeclaredShapeIsWrong(t *testing.T) {
	t.Parallel()
	f := identity(onnxmodel.Int32, "n", 4)
	f.Nodes[0] = onnxmodel.Node{
		Op: "Concat", Inputs: []string{"x", "x"}, Outputs: []string{"y"},
		Attrs: []onnxmodel.Attr{onnxmodel.IntAttr("axis", 0)},
	}
	w := load(t, specOf(t, f, 0))
	for range 2 {
		out, err := w.infer(w.inst, w.request(0, input{"x", tensor.Int32, tensor.Shape{1, 4}, int32s(1, 2, 3, 4)}))
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{2, 4}, out[0].Output("y").Shape)
		require.Equal(t, int32s(1, 2, 3, 4, 1, 2, 3, 4), bytesOf(t, out[0], "y"))
		out[0].Release()
		require.False(t, w.model.(*model).derive.Load())
	}
}

func TestTooFewRows(t *testing.T) {
	t.Parallel()
	f := identity(onnxmodel.Int32, "n", 4)
	f.Weights = append(f.Weights, onnxmodel.Weight{
		Name: "first", Elem: onnxmodel.Bool, Dims: []int64{1},
		Data: func(w io.Writer) error { _, err := w.Write([]byte{1}); return err },
	})
	f.Nodes[0] = onnxmodel.Node{
		Op: "Compress", Inputs: []string{"x", "first"}, Outputs: []string{"y"},
		Attrs: []onnxmodel.Attr{onnxmodel.IntAttr("axis", 0)},
	}
	w := load(t, specOf(t, f, 8))
	var rs [2]input
	for k := range rs {
		rs[k] = input{"x", tensor.Int32, tensor.Shape{1, 4}, int32s(1, 2, 3, 4)}
	}
	one, two := w.request(1, rs[0]), w.request(1, rs[1])
	two.ID = "late"
	batch := w.batchOf(one)
	batch.Add(two)
	defer two.Release()
	defer two.Release()
	require.NoError(t, w.inst.Execute(t.Context(), batch))
	resp, err := one.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, int32s(1, 2, 3, 4), bytesOf(t, resp, "y"))
	resp.Release()
	_, err = two.Wait(t.Context())
	require.EqualError(t, err, "[request id: late] failed to split the output tensor 'y' in responses: expected batch size of at least 2 in model output, got 1")
	require.Equal(t, status.Unsupported, status.CodeOf(err))
}

func TestReshape(t *testing.T) {
	t.Parallel()
	spec := specOf(t, identity(onnxmodel.Int32, "n", 2, -1), 8)
	spec.Config.Input[0].Dims = []int64{1, -1, 2}
	spec.Config.Input[0].Reshape = &inferencepb.ModelTensorReshape{Shape: []int64{2, -1}}
	spec.Config.Output[0].Dims = []int64{-1, 2}
	spec.Config.Output[0].Reshape = &inferencepb.ModelTensorReshape{Shape: []int64{2, -1}}
	w := load(t, spec)
	out, err := w.infer(w.inst, w.request(1, input{"x", tensor.Int32, tensor.Shape{1, 1, 3, 2}, int32s(1, 2, 3, 4, 5, 6)}))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{1, 3, 2}, out[0].Output("y").Shape)
	require.Equal(t, int32s(1, 2, 3, 4, 5, 6), bytesOf(t, out[0], "y"))
	out[0].Release()
}

// An initializer that is also a graph input is an input that may be left out.
func TestOptionalInput(t *testing.T) {
	t.Parallel()
	f := identity(onnxmodel.Int64, "n")
	f.Inputs = append(f.Inputs, onnxmodel.Tensor("bias", onnxmodel.Int64, 1))
	f.Weights = append(f.Weights, onnxmodel.Ints("bias", []int64{1}, 0))
	f.Nodes[0] = onnxmodel.Node{Op: "Add", Inputs: []string{"x", "bias"}, Outputs: []string{"y"}}
	spec := specOf(t, f, 0)
	spec.Config.Input[1].Optional = true
	w := load(t, spec)
	x := input{"x", tensor.Int64, tensor.Shape{1}, []byte{5, 0, 0, 0, 0, 0, 0, 0}}
	out, err := w.infer(w.inst, w.request(0, x))
	require.NoError(t, err)
	require.Equal(t, x.bytes, bytesOf(t, out[0], "y"))
	out[0].Release()
	out, err = w.infer(w.inst, w.request(0, x, input{"bias", tensor.Int64, tensor.Shape{1}, []byte{3, 0, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, err)
	require.Equal(t, []byte{8, 0, 0, 0, 0, 0, 0, 0}, bytesOf(t, out[0], "y"))
	out[0].Release()
}

func TestRequestedOutputs(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 8))
	one, two := simpleRequest(w, 1, 0), simpleRequest(w, 1, 0)
	one.Outputs = append(one.Outputs, wanted("OUTPUT1"))
	two.Outputs = append(two.Outputs, wanted("OUTPUT1"), wanted("OUTPUT0"))
	out, err := w.infer(w.inst, one, two)
	require.NoError(t, err)
	require.Nil(t, out[0].Output("OUTPUT0"))
	require.Equal(t, bytesOf(t, out[0], "OUTPUT1"), bytesOf(t, out[1], "OUTPUT1"))
	require.Equal(t, ramp(1, 5, 4), bytesOf(t, out[1], "OUTPUT0"))
	out[0].Release()
	out[1].Release()
}

// TestScalarShape: an output that the graph declares a scalar has the dims of
// the configuration, whatever ONNX Runtime makes of the input's.
func TestScalarShape(t *testing.T) {
	t.Parallel()
	spec := specOf(t, identity(onnxmodel.Float), 0)
	spec.Config.Input[0].Dims = []int64{1, 1, 1}
	spec.Config.Output[0].Dims = []int64{1, 1}
	w := load(t, spec)
	data := []byte{0, 0, 128, 63}
	out, err := w.infer(w.inst, w.request(1, input{"x", tensor.FP32, tensor.Shape{1, 1, 1}, data}))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{1, 1}, out[0].Output("y").Shape)
	require.Equal(t, data, bytesOf(t, out[0], "y"))
	out[0].Release()
}
