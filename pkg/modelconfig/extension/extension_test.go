package extension_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
)

const model = `name: "m"
max_batch_size: 8
input { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] }
input { name: "weights:0" data_type: TYPE_FP16 dims: [ -1, 4 ] }
input { name: "mask" data_type: TYPE_BOOL dims: [ 1, -1 ] }
input { name: "words" data_type: TYPE_STRING dims: [ -1 ] }
input { name: "fixed" data_type: TYPE_INT32 dims: [ 4 ] }
input { name: "image" data_type: TYPE_FP32 dims: [ -1, -1 ] }
input { name: "ragged" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
output { name: "logits" data_type: TYPE_FP32 dims: [ -1, 2 ] }
dynamic_batching { }
`

func read(t *testing.T, pairs ...string) (extension.Settings, []modelconfig.Finding) {
	t.Helper()
	text := model
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, ": ")
		text += fmt.Sprintf("parameters { key: %q value { string_value: %q } }\n", key, value)
	}
	c, err := modelconfig.Parse("config.pbtxt", []byte(text))
	require.NoError(t, err)
	return extension.Read(c)
}

func TestRead(t *testing.T) {
	t.Parallel()
	s, found := read(t, "my_own: 1")
	require.Empty(t, found)
	require.Equal(t, extension.Settings{}, s)

	s, found = read(t, "max_queue_delay_target_p99_microseconds: 20000", "max_queue_delay_limit_microseconds: 30000", "deadline_admission: true")
	require.Empty(t, found)
	require.Equal(t, extension.Settings{Admission: true, Delay: &extension.Delay{Target: 20 * time.Millisecond, Limit: 20 * time.Millisecond}}, s)

	s, found = read(t, "length_buckets: 16, 32,64", "length_bucket_inputs: ids, weights:0:0", "length_bucket_pad_values: weights:0=-1.5,ids=-1",
		"length_bucket_mask: mask:1", "length_bucket_outputs: logits:0")
	require.Empty(t, found)
	ids := extension.Axis{Name: "ids", DataType: tensor.Int64, Dims: tensor.Shape{-1}}
	weights := extension.Axis{Name: "weights:0", DataType: tensor.FP16, Dims: tensor.Shape{-1, 4}}
	mask := extension.Axis{Name: "mask", DataType: tensor.Bool, Dims: tensor.Shape{1, -1}, Dim: 1}
	require.Equal(t, &extension.Lengths{
		Buckets: []int64{16, 32, 64},
		Inputs: []extension.Padded{
			{Axis: ids, Fill: []byte{255, 255, 255, 255, 255, 255, 255, 255}},
			{Axis: weights, Fill: []byte{0, 0xbe}},
		},
		Mask:    &extension.Padded{Axis: mask, Fill: []byte{0}, Real: []byte{1}},
		Outputs: []extension.Axis{{Name: "logits", DataType: tensor.FP32, Dims: tensor.Shape{-1, 2}}},
	}, s.Lengths)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	const buckets, inputs = "length_buckets: 16, 32", "length_bucket_inputs: ids"
	for _, c := range []struct {
		want  string
		pairs []string
	}{
		{"'deadline_admission' of model 'm': 'yes' is neither true nor false", []string{"deadline_admission: yes"}},
		{"'0' is not a number of microseconds from 1 to 3600000000", []string{"max_queue_delay_target_p99_microseconds: 0"}},
		{"without max_queue_delay_target_p99_microseconds there is nothing to limit", []string{"max_queue_delay_limit_microseconds: 1"}},
		{"'max_queue_delay_target_microseconds' of model 'm': there is no such parameter", []string{"max_queue_delay_target_microseconds: 1"}},
		{"it needs length_buckets", []string{inputs}},
		{"length buckets need at least one input to pad", []string{buckets}},
		{"16 does not come after 16", []string{"length_buckets: 16,16", inputs}},
		{"'x' is not a length from 1 to 16777216", []string{"length_buckets: x", inputs}},
		{"'16,,32' has an empty item", []string{"length_buckets: 16,,32", inputs}},
		{"model has no input 'id'", []string{buckets, "length_bucket_inputs: id"}},
		{"input 'words' is of type TYPE_STRING, which cannot be padded", []string{buckets, "length_bucket_inputs: words"}},
		{"input 'fixed' has dims [4], which must have exactly one -1", []string{buckets, "length_bucket_inputs: fixed"}},
		{"input 'image' has dims [-1,-1], which must have exactly one -1", []string{buckets, "length_bucket_inputs: image"}},
		{"'2' is not a variable dimension of input 'image'; its dims are [-1,-1]", []string{buckets, "length_bucket_inputs: image:2"}},
		{"'0' is not a variable dimension of input 'mask'; its dims are [1,-1]", []string{buckets, inputs, "length_bucket_mask: mask:0"}},
		{"input 'ragged' is ragged and needs no padding", []string{buckets, "length_bucket_inputs: ragged"}},
		{"input 'ids' is named twice", []string{buckets, inputs, "length_bucket_mask: ids"}},
		{"'mask' is not in length_bucket_inputs", []string{buckets, inputs, "length_bucket_pad_values: mask=1"}},
		{"'ids' has no '='", []string{buckets, inputs, "length_bucket_pad_values: ids"}},
		{"'0.5' is not a value of type TYPE_INT64, which input 'ids' has", []string{buckets, inputs, "length_bucket_pad_values: ids=0.5"}},
		{"dimension 0 of output 'logits' is named twice", []string{buckets, inputs, "length_bucket_outputs: logits, logits:0"}},
		{"model has no output 'logit'", []string{buckets, inputs, "length_bucket_outputs: logit"}},
		{"'length_bucket_output' of model 'm': there is no such parameter", []string{buckets, inputs, "length_bucket_output: logits"}},
	} {
		_, found := read(t, c.pairs...)
		require.Len(t, found, 1, c.want)
		require.Contains(t, found[0].Msg, c.want)
		require.NotZero(t, found[0].Pos.Line)
		require.Error(t, found[0].Err())
	}
}

// Ensembles have no batches; the models of their steps have.
func TestEnsembles(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"length_buckets": "an ensemble pads nothing", "deadline_admission": "only models without",
		"max_queue_delay_target_p99_microseconds": "only the dynamic batcher has a queue delay",
	} {
		c, err := modelconfig.Parse("config.pbtxt", []byte(`name: "m" platform: "ensemble" ensemble_scheduling { }`))
		require.NoError(t, err)
		values := map[string]string{"length_buckets": "8", "deadline_admission": "true", "max_queue_delay_target_p99_microseconds": "1000"}
		c.Parameters = map[string]*inferencepb.ModelParameter{key: {StringValue: values[key]}}
		_, found := extension.Read(c)
		require.Len(t, found, 1)
		require.Contains(t, found[0].Msg, want)
	}
}

// Every numeric type has a one and a zero.
func TestMaskOfEveryType(t *testing.T) {
	t.Parallel()
	for d, one := range map[string][]byte{
		"BOOL": {1}, "UINT8": {1}, "INT16": {1, 0}, "UINT32": {1, 0, 0, 0}, "INT64": {1, 0, 0, 0, 0, 0, 0, 0},
		"FP16": {0, 0x3c}, "BF16": {0x80, 0x3f}, "FP32": {0, 0, 0x80, 0x3f}, "FP64": {0, 0, 0, 0, 0, 0, 0xf0, 0x3f},
	} {
		text := strings.Replace(model, `"mask" data_type: TYPE_BOOL`, `"mask" data_type: TYPE_`+d, 1) + `
parameters { key: "length_buckets" value { string_value: "8" } }
parameters { key: "length_bucket_inputs" value { string_value: "ids" } }
parameters { key: "length_bucket_mask" value { string_value: "mask" } }`
		c, err := modelconfig.Parse("config.pbtxt", []byte(text))
		require.NoError(t, err)
		s, found := extension.Read(c)
		require.Empty(t, found)
		require.Equal(t, one, s.Lengths.Mask.Real, d)
		require.Equal(t, make([]byte, len(one)), s.Lengths.Mask.Fill, d)
	}
}
