package onnxmodel_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
)

func file() *onnxmodel.File {
	return &onnxmodel.File{
		IRVersion: 8, Producer: "test", ProducerVersion: "2",
		Opsets:   []onnxmodel.Opset{{Version: 17}, {Domain: "com.microsoft", Version: 1}},
		Metadata: map[string]string{"b": "2", "a": "1", "c": "3"},
		Graph:    "g",
		Nodes: []onnxmodel.Node{
			{Op: "Add", Name: "add", Inputs: []string{"x", "w"}, Outputs: []string{"y"}},
			{Op: "Clip", Name: "clip", Inputs: []string{"y", "", "w"}, Outputs: []string{"z"}},
		},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("x", onnxmodel.Float, "batch", -1, 3)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("z", onnxmodel.Float), {Name: "s", Kind: onnxmodel.KindSequence}, {Name: "m", Kind: onnxmodel.KindMap}},
		Weights: []onnxmodel.Weight{
			onnxmodel.Floats("w", []int64{3}, 1, 2, 3),
			onnxmodel.Ints("shape", []int64{2}, 0, -1),
		},
	}
}

func TestWriteThenRead(t *testing.T) {
	t.Parallel()
	var b, again bytes.Buffer
	f := file()
	require.NoError(t, f.Write(&b))
	require.NoError(t, file().Write(&again))
	require.Equal(t, b.Bytes(), again.Bytes())

	m, err := onnxmodel.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	f.Outputs[2].Kind = onnxmodel.KindUnknown // types of other kinds are not written
	require.Equal(t, &onnxmodel.Model{
		IRVersion: f.IRVersion, Producer: f.Producer, ProducerVersion: f.ProducerVersion,
		Opsets: f.Opsets, Metadata: f.Metadata, Graph: f.Graph, Inputs: f.Inputs, Outputs: f.Outputs,
		Initializers: []string{"w", "shape"}, Parameters: 5, Nodes: 2,
	}, m)
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	for name, c := range map[string]struct {
		weight onnxmodel.Weight
		want   string
	}{
		"too few":  {onnxmodel.Floats("w", []int64{3}, 1, 2), `weight "w": 8 bytes of data for FLOAT of shape [3], which takes 12`},
		"text":     {onnxmodel.Weight{Name: "w", Elem: onnxmodel.String}, `weight "w": STRING elements have no fixed size`},
		"negative": {onnxmodel.Floats("w", []int64{-1}), `weight "w": negative dimension`},
		"huge":     {onnxmodel.Floats("w", []int64{1 << 30}), "2 GiB"},
		"source": {onnxmodel.Weight{
			Name: "w", Elem: onnxmodel.Float,
			Data: func(io.Writer) error { return broken },
		}, `weight "w": disk full`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := file()
			f.Weights[0] = c.weight
			require.ErrorContains(t, f.Write(io.Discard), c.want)
		})
	}
	half := onnxmodel.Weight{Name: "h", Elem: onnxmodel.Float, Dims: []int64{300 << 20}}
	f := file()
	f.Weights = []onnxmodel.Weight{half, half}
	require.ErrorContains(t, f.Write(io.Discard), "more than the 2 GiB that an ONNX file can hold")
	require.ErrorIs(t, file().Write(failing{broken}), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
