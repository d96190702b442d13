package native

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
)

func specOf(batch int32, parameters ...string) backend.Spec {
	c := &inferencepb.ModelConfig{
		Name: "m", MaxBatchSize: batch, Parameters: map[string]*inferencepb.ModelParameter{},
		Input: []*inferencepb.ModelInput{{Name: "x", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{4}}},
	}
	for i := 0; i < len(parameters); i += 2 {
		c.Parameters[parameters[i]] = &inferencepb.ModelParameter{StringValue: parameters[i+1]}
	}
	return backend.Spec{Name: "m", Config: c, CPUs: 8}
}

func TestOpenVINOOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parameters []string
		instances  int
		want       [][2]string
	}{
		{nil, 2, [][2]string{{"NUM_STREAMS", "2"}, {"INFERENCE_NUM_THREADS", "8"}}},
		{nil, 16, [][2]string{{"NUM_STREAMS", "16"}, {"INFERENCE_NUM_THREADS", "16"}}},
		{[]string{"INFERENCE_NUM_THREADS", "3"}, 1, [][2]string{{"INFERENCE_NUM_THREADS", "3"}, {"NUM_STREAMS", "1"}}},
		{[]string{"NUM_STREAMS", "AUTO"}, 1, [][2]string{{"NUM_STREAMS", "AUTO"}, {"INFERENCE_NUM_THREADS", "8"}}},
		{[]string{"PERFORMANCE_HINT", "LATENCY", "HINT_BF16", "YES"}, 1, [][2]string{{"PERFORMANCE_HINT", "LATENCY"}, {"INFERENCE_PRECISION_HINT", "bf16"}}},
		{[]string{"TARGET_DEVICE", "GPU"}, 1, nil},
	} {
		require.Equal(t, c.want, parseOpenVINOOptions(specOf(0, c.parameters...), c.instances).properties, c.parameters)
	}
}

func ports(name string, d tensor.DataType, dims ...int64) []port {
	return []port{{modelTensor: modelTensor{Name: name, DataType: d, Dims: dims}, names: []string{name, "input_0"}, ranks: true}}
}

func TestOpenVINOShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec backend.Spec
		in   []port
		want []tensor.Shape
	}{
		{"open already", specOf(4), ports("x", tensor.FP32, -1, 4), nil},
		{"opened", specOf(4), ports("x", tensor.FP32, 1, 4), []tensor.Shape{{-1, 4}}},
		{"fixed", specOf(4, "SKIP_OV_DYNAMIC_BATCHSIZE", "YES"), ports("x", tensor.FP32, 1, 4), nil},
		{"no batches", specOf(0), ports("x", tensor.FP32, 1, 4), nil},
		{"the configured dims", specOf(4, "RESHAPE_IO_LAYERS", "YES"), ports("x", tensor.FP32, 1, 9), []tensor.Shape{{-1, 4}}},
	} {
		got, err := parseOpenVINOOptions(c.spec, 1).shapes(c.spec, c.in)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	spec := specOf(4, "RESHAPE_IO_LAYERS", "YES")
	_, err := parseOpenVINOOptions(spec, 1).shapes(spec, ports("other", tensor.FP32, 1, 4))
	require.EqualError(t, err, "RESHAPE_IO_LAYERS of model 'm' needs the dims of input 'other'")
}

func TestMatchPorts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		batch int32
		in    []port
		want  string
	}{
		{4, ports("x", tensor.FP32, -1, 4), ""},
		{4, ports("x", tensor.FP32, -1, -1), ""},
		{0, ports("x", tensor.FP32, 4), ""},
		{4, []port{{modelTensor: modelTensor{Name: "x", DataType: tensor.FP32, Dims: tensor.Shape{-1}}, names: []string{"x"}}}, ""},
		{4, ports("other", tensor.FP32, -1, 4), "unexpected inference input 'x', allowed inputs are: other"},
		{4, ports("x", tensor.FP64, -1, 4), "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'x', model provides TYPE_FP64"},
		{4, ports("x", tensor.FP32, 1, 4), "model 'm', input 'x': the model expects shape [1,4] but the model configuration specifies shape [-1,4]: it cannot batch, so set max_batch_size: 0"},
		{0, ports("x", tensor.FP32, 5), "model 'm', input 'x': the model expects shape [5] but the model configuration specifies shape [4]"},
		{0, ports("x", tensor.FP32, 4, 1), "model 'm', input 'x': the model expects shape [4,1] but the model configuration specifies shape [4]"},
	} {
		spec := specOf(c.batch)
		places, err := matchPorts(spec, "input", backend.NewFullSignature(spec.Config).Inputs, c.in)
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []int{0}, places)
	}
}
