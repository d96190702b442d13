package modelconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// TestOutputTwice: a model may declare an output twice, as in Triton, but then no ensemble can map it.
func TestOutputTwice(t *testing.T) {
	t.Parallel()
	part, err := modelconfig.Parse("config.pbtxt", []byte(`name: "first" input { name: "I" data_type: TYPE_FP32 dims: [ 1 ] }
		output { name: "O" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "O" data_type: TYPE_FP32 dims: [ 1 ] }`))
	require.NoError(t, err)
	pipe, err := modelconfig.Parse("config.pbtxt", []byte(`name: "pipe" input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
		ensemble_scheduling { step { model_name: "first" input_map { key: "I" value: "X" } output_map { key: "O" value: "Y" } } }`))
	require.NoError(t, err)
	found := pipe.ValidateComposing(func(int) *pb.ModelConfig { return part.ModelConfig })
	require.Len(t, found, 1)
	require.Equal(t, "in ensemble pipe, multiple outputs in model first are mapped to the same ensemble tensor Y", found[0].Msg)
	require.Equal(t, `ensemble_scheduling.step[0].output_map["O"]`, found[0].Path)
	require.NotZero(t, found[0].Pos.Line)
}
