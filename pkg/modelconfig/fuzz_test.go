package modelconfig_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// FuzzParse compares the parser with protobuf's own where both accept, and
// checks that what was read survives Encode.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		got, err := modelconfig.Parse("f", []byte(src))
		want := &inferencepb.ModelConfig{}
		wantErr := prototext.Unmarshal([]byte(src), want)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		if wantErr == nil {
			require.True(t, proto.Equal(want, got.ModelConfig), "ours:   %v\ntheirs: %v", got.ModelConfig, want)
		}
		again, err := modelconfig.Parse("f", modelconfig.Encode(got.ModelConfig))
		require.NoError(t, err)
		require.True(t, proto.Equal(again.ModelConfig, got.ModelConfig))

		// The steps of a load must not panic on anything that can be read.
		_ = got.Detect("m.b", fstest.MapFS{}) // an error is allowed
		got.Normalize()
		_ = append(got.Validate(), got.ValidateIO()...)
		got.NormalizeInstanceGroups(modelconfig.Machine{GPUs: []int32{0}})
		_ = got.ValidateInstanceGroups(modelconfig.Machine{GPUs: []int32{0}})
		text, err := modelconfig.MarshalJSON(got.ModelConfig)
		require.NoError(t, err)
		require.True(t, json.Valid(text), "%s", text)
	})
}

var seeds = []string{
	``,
	`name: "m" max_batch_size: 8`,
	`input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] } output [ { name: "y" dims: 1 dims: 2 }, < name: 'z' > ]`,
	`parameters { key: "k" value: { string_value: "v" } } parameters: { key: "k" value { string_value: "w" } }`,
	`parameters [ { key: "a" value { string_value: "b" "c" 'd' } }, { key: "e" } ];`,
	`dynamic_batching { preferred_batch_size: [ 0x10, 010, 8 ], max_queue_delay_microseconds: 100; priority_queue_policy { key: 1 value { max_queue_size: 3 } } }`,
	`sequence_batching { direct { minimum_slot_utilization: 1.5f } control_input { control { fp32_false_true: [ 0, -inf ] bool_false_true: [ t, False ] } } }`,
	"# comment\nname: \"a\\n\\x41\\101\\u00e9\\U0001F600\"\n",
	`model_metrics { metric_control { histogram_options { buckets: [ 1, 2.5e3, .5, nan ] } } }`,
	`instance_group [ { kind: KIND_CPU count: 2 gpus: [ 0 ] }, { kind: 1 } ]`,
	`version_policy: { specific: { versions: [1, 3] } }`,
	`ensemble_scheduling { step { model_name: "a" model_version: -1 input_map { key: "k" value: "v" } } }`,
	`optimization { cuda { graph_spec { input { key: "x" value { dim: 3 } } } } }`,
	`name: "x" [a.b/c]: 1`, `input { name`, `name: "\ud83d\ude00"`,
}
