//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// pooling returns a MaxPool whose output the file declares smaller than ceil_mode makes it.
func pooling() *onnxmodel.File {
	return &onnxmodel.File{
		Nodes: []onnxmodel.Node{{Op: "MaxPool", Inputs: []string{"X"}, Outputs: []string{"Y"}, Attrs: []onnxmodel.Attr{
			onnxmodel.IntsAttr("kernel_shape", 3, 3), onnxmodel.IntsAttr("strides", 2, 2), onnxmodel.IntAttr("ceil_mode", 1),
		}}},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float, 1, 1, 4, 4)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Float, 1, 1, 1, 1)},
	}
}

// folded reshapes to a shape that is constant once the graph is optimized.
func folded(first any) *onnxmodel.File {
	return &onnxmodel.File{
		Nodes: []onnxmodel.Node{
			{Op: "Mul", Inputs: []string{"two", "one"}, Outputs: []string{"rows"}},
			{Op: "Concat", Inputs: []string{"rows", "rest"}, Outputs: []string{"shape"}, Attrs: []onnxmodel.Attr{onnxmodel.IntAttr("axis", 0)}},
			{Op: "Reshape", Inputs: []string{"X", "shape"}, Outputs: []string{"Y"}},
		},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float, first, 3)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Float, "rows", "columns")},
		Weights: []onnxmodel.Weight{
			onnxmodel.Ints("two", []int64{1}, 2), onnxmodel.Ints("one", []int64{1}, 1), onnxmodel.Ints("rest", []int64{1}, -1),
		},
	}
}

// misdeclared passes its input on under another shape than it has.
func misdeclared() *onnxmodel.File {
	return &onnxmodel.File{
		Nodes:   []onnxmodel.Node{{Op: "Relu", Inputs: []string{"X"}, Outputs: []string{"Y"}}},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float, 4, 3)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Float, 5, 3)},
	}
}

// distinct has no inputs; its output is the distinct values of a constant (known
// when the graph is optimized) or of a default that requests may replace.
func distinct(replaceable bool) *onnxmodel.File {
	f := &onnxmodel.File{
		Nodes:   []onnxmodel.Node{{Op: "Unique", Inputs: []string{"W"}, Outputs: []string{"Y"}}},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Float, "n")},
		Weights: []onnxmodel.Weight{onnxmodel.Floats("W", []int64{3}, 3, 1, 3)},
	}
	if replaceable {
		f.Inputs = []onnxmodel.Value{onnxmodel.Tensor("W", onnxmodel.Float, 3)}
	}
	return f
}

// TestAutoCompleteFollowsTheEngine loads models whose file states other shapes
// than ONNX Runtime has. The wanted shapes are those of NVIDIA's server, except
// for the graph without inputs whose output stays open: it gives that one a batch
// and then refuses every request.
func TestAutoCompleteFollowsTheEngine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  *onnxmodel.File
		batch int32
		dims  []int64
	}{
		"declared smaller than computed":      {pooling(), 0, []int64{1, 1, -1, -1}},
		"declared otherwise":                  {misdeclared(), 0, []int64{-1, 3}},
		"open, known to ONNX Runtime":         {folded(4), 0, []int64{2, 6}},
		"open, known to ONNX Runtime in part": {folded("batch"), 0, []int64{2, -1}},
		"no input, known to ONNX Runtime":     {distinct(false), 0, []int64{2}},
		"no input, open":                      {distinct(true), 0, []int64{-1}},
		"a batch":                             {simple(), 4, []int64{16}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, spec := engineUnderTest(t), specOf(t, c.file, 0)
			spec.Config.Input, spec.Config.Output = nil, nil
			require.NoError(t, b.AutoComplete(t.Context(), spec))
			require.Equal(t, c.batch, spec.Config.MaxBatchSize)
			require.Equal(t, c.dims, spec.Config.Output[0].Dims)
			load(t, spec)
		})
	}
}

func TestNoInputsAnswersAll(t *testing.T) {
	t.Parallel()
	b, spec := engineUnderTest(t), specOf(t, distinct(true), 0)
	spec.Config.Input, spec.Config.Output = nil, nil
	require.NoError(t, b.AutoComplete(t.Context(), spec))
	w := load(t, spec)
	out, err := w.infer(w.inst, w.request(1))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{2}, out[0].Output("Y").Shape)
	out[0].Release()
}

// TestScalarInput asks models of a scalar, which a configuration lists as [1]:
// ONNX Runtime must see no dimension.
func TestScalarInput(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, &onnxmodel.File{
		Nodes:   []onnxmodel.Node{{Op: "Unsqueeze", Inputs: []string{"X", "axes"}, Outputs: []string{"Y"}}},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Float, 1)},
		Weights: []onnxmodel.Weight{onnxmodel.Ints("axes", []int64{1}, 0)},
	}, 0))
	out, err := w.infer(w.inst, w.request(1, input{"X", tensor.FP32, tensor.Shape{1}, []byte{0, 0, 128, 63}}))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{1}, out[0].Output("Y").Shape)
	out[0].Release()
}

// TestCompleteConfigurationOpensNothing completes a configuration that lacks
// nothing of a file that is no model.
func TestCompleteConfigurationOpensNothing(t *testing.T) {
	t.Parallel()
	spec := specOf(t, simple(), 2)
	want := backend.NewSignature(spec.Config)
	require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, spec.File), []byte("not a model"), 0o600))
	require.NoError(t, engineUnderTest(t).AutoComplete(t.Context(), spec))
	require.Equal(t, want, backend.NewSignature(spec.Config))
}

// TestTypesThatTheProtocolLacks reads the reason for each type that a model can
// have and a client cannot send.
func TestTypesThatTheProtocolLacks(t *testing.T) {
	t.Parallel()
	for number, name := range map[onnxmodel.ElemType]string{
		17: "FLOAT8E4M3FN", 20: "FLOAT8E5M2FNUZ", 21: "UINT4", 22: "INT4", 24: "FLOAT8E8M0", 25: "UINT2", 26: "INT2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, spec := engineUnderTest(t), specOf(t, &onnxmodel.File{
				IRVersion: 13,
				Opsets:    []onnxmodel.Opset{{Version: 25}},
				Nodes:     []onnxmodel.Node{{Op: "Cast", Inputs: []string{"X"}, Outputs: []string{"Y"}, Attrs: []onnxmodel.Attr{onnxmodel.IntAttr("to", int64(number))}}},
				Inputs:    []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float, 4)},
				Outputs:   []onnxmodel.Value{onnxmodel.Tensor("Y", number, 4)},
			}, 0)
			spec.Config.Input, spec.Config.Output = nil, nil
			require.EqualError(t, b.AutoComplete(t.Context(), spec), "model output 'Y' must specify 'data_type' for m: its ONNX type "+
				name+" has no data type in the inference protocol; convert it in the model")
		})
	}
}

// TestFirstOfSeveralSequences reads which of two inputs that are no tensors the
// reason names: the first of the file, as Triton's does.
func TestFirstOfSeveralSequences(t *testing.T) {
	t.Parallel()
	sequence := func(name string) onnxmodel.Value {
		return onnxmodel.Value{Name: name, Kind: onnxmodel.KindSequence, Elem: onnxmodel.Float}
	}
	spec := specOf(t, &onnxmodel.File{
		Nodes: []onnxmodel.Node{
			{Op: "SequenceLength", Inputs: []string{"x0"}, Outputs: []string{"n0"}},
			{Op: "SequenceLength", Inputs: []string{"x1"}, Outputs: []string{"n1"}},
		},
		Inputs:  []onnxmodel.Value{sequence("x0"), sequence("x1")},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("n0", onnxmodel.Int64), onnxmodel.Tensor("n1", onnxmodel.Int64)},
	}, 0)
	spec.Config.Input, spec.Config.Output = nil, nil
	require.EqualError(t, engineUnderTest(t).AutoComplete(t.Context(), spec),
		"Unsupported ONNX Type 'ONNX_TYPE_SEQUENCE' for I/O 'x0', expected 'ONNX_TYPE_TENSOR'. (such a model cannot be served: convert it)")
}
