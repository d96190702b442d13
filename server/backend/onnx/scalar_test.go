//go:build cgo && (linux || darwin)

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// sums is a graph with scalars: Y = X + S, and T is the sum of all Y.
func sums() *onnxmodel.File {
	return &onnxmodel.File{
		Nodes: []onnxmodel.Node{
			{Op: "Add", Inputs: []string{"X", "S"}, Outputs: []string{"Y"}},
			{Op: "ReduceSum", Inputs: []string{"Y"}, Outputs: []string{"T"}, Attrs: []onnxmodel.Attr{onnxmodel.IntAttr("keepdims", 0)}},
		},
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Int32, "n", "k"), onnxmodel.Tensor("S", onnxmodel.Int32)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Int32, "n", "k"), onnxmodel.Tensor("T", onnxmodel.Int32)},
	}
}

// A scalar of the graph is one value for a whole batch. In batches of several items it would be
// the value of another item, or be added along the wrong dimension.
func TestScalarsInBatches(t *testing.T) {
	t.Parallel()
	empty := func() *inferencepb.ModelTensorReshape { return &inferencepb.ModelTensorReshape{} }
	for _, batch := range []int32{0, 1, 4} {
		for _, reshape := range []bool{false, true} {
			if reshape && batch == 0 {
				continue // refused before the backend sees it
			}
			spec := specOf(t, sums(), 0)
			c := spec.Config
			if c.MaxBatchSize = batch; batch > 0 {
				c.Input[0].Dims, c.Output[0].Dims = []int64{-1}, []int64{-1}
			}
			if reshape {
				c.Input[1].Reshape, c.Output[1].Reshape = empty(), empty()
			}
			if batch > 1 {
				m, err := engineUnderTest(t).Load(t.Context(), spec)
				require.NoError(t, err)
				_, err = m.NewInstance(t.Context(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 1})
				require.NoError(t, m.Close())
				require.EqualError(t, err, "model 'm', tensor 'S': for the model to support batching the shape should have at least 1 dimension and "+
					"the first dimension must be -1; but shape expected by the model is []")
				continue
			}
			w := load(t, spec)
			row := tensor.Shape{1}
			if batch == 1 {
				row = tensor.Shape{1, 1}
			}
			out, err := w.infer(w.inst, w.request(1, input{"X", tensor.Int32, tensor.Shape{1, 2}, int32s(1, 2)}, input{"S", tensor.Int32, row, int32s(10)}))
			require.NoError(t, err)
			require.Equal(t, int32s(11, 12), bytesOf(t, out[0], "Y"))
			require.Equal(t, tensor.Shape{1, 2}, out[0].Output("Y").Shape)
			require.Equal(t, int32s(23), bytesOf(t, out[0], "T"))
			require.Equal(t, row, out[0].Output("T").Shape)
			out[0].Release()
		}
	}
}
