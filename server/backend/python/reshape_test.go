package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The model sees inputs in the shape of their reshape, and clients see outputs in their dims.
func TestReshape(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        out = x if requests[0].request_id() == "all" else x[:, 0, 0].copy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", out), pb_utils.Tensor("SEEN", np.array(x.shape))])]
`)
	c := h.spec.Config
	c.MaxBatchSize = 4
	c.Input[0].Dims, c.Input[0].Reshape = []int64{-1, 2}, &inferencepb.ModelTensorReshape{Shape: []int64{2, -1}}
	c.Output[0].Dims, c.Output[0].Reshape = []int64{1}, &inferencepb.ModelTensorReshape{}
	c.Output = append(c.Output, &inferencepb.ModelOutput{Name: "SEEN", DataType: inferencepb.DataType_TYPE_INT64, Dims: []int64{-1}})
	require.NoError(t, h.load())
	ask := func(id string) ([]kserve.Tensor, error) {
		r := h.request(tensor.FP32, tensor.Shape{2, 3, 2}, floats(12))
		r.ID = id
		responses, err := h.run(r)
		require.NoError(t, err)
		t.Cleanup(responses[0].Release)
		return responses[0].Outputs, responses[0].Err
	}
	outputs, err := ask("")
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{2, 1}, outputs[0].Shape)
	require.Equal(t, []byte{2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}, bytesOf(&outputs[1].Data))
	require.Equal(t, tensor.Shape{3}, outputs[1].Shape)

	_, err = ask("all")
	require.EqualError(t, err, "output 'OUT' of shape [2,2,3] does not fit the reshape of its configuration, which makes it [2,1]")
}

func TestReshapes(t *testing.T) {
	t.Parallel()
	all := reshapes{"A": {tensor.Shape{-1, 2}, tensor.Shape{2, -1}}, "scalar": {tensor.Shape{1}, tensor.Shape{}}}
	for _, c := range []struct {
		name string
		in   tensor.Shape
		lead int
		want tensor.Shape
	}{
		{"A", tensor.Shape{7, 2}, 0, tensor.Shape{2, 7}},
		{"A", tensor.Shape{5, 7, 2}, 1, tensor.Shape{5, 2, 7}},
		{"scalar", tensor.Shape{5, 1}, 1, tensor.Shape{5}},
		{"other", tensor.Shape{5, 1}, 1, tensor.Shape{5, 1}},
	} {
		in := c.in.Clone()
		require.Equal(t, c.want, all.shape(&kserve.Tensor{Name: c.name, Shape: in}, c.lead))
		require.Equal(t, c.in, in)
	}
	require.Empty(t, all.shape(&kserve.Tensor{Name: "scalar"}, 1))
}
