package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

func parse(t *testing.T, text string) *inferencepb.ModelConfig {
	t.Helper()
	c, err := modelconfig.Parse("", []byte(text))
	require.NoError(t, err)
	return c.ModelConfig
}

func TestApply(t *testing.T) {
	t.Parallel()
	const base = `name: "m" max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 100 }
instance_group { count: 1 kind: KIND_CPU } parameters { key: "a" value { string_value: "1" } }
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }`
	for name, c := range map[string]struct {
		patch Patch
		want  string
	}{
		"nothing": {nil, base},
		"replace": {Patch{"max_batch_size": 16}, `name: "m" max_batch_size: 16 dynamic_batching { max_queue_delay_microseconds: 100 }
instance_group { count: 1 kind: KIND_CPU } parameters { key: "a" value { string_value: "1" } }
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }`},
		"lists are replaced, messages and maps merged": {Patch{
			"instance_group":   []any{map[string]any{"count": 3, "kind": "KIND_GPU"}},
			"dynamic_batching": map[string]any{"preferred_batch_size": []int{2, 4}},
			"parameters":       map[string]any{"b": map[string]any{"string_value": "2"}},
		}, `name: "m" max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 100 preferred_batch_size: [ 2, 4 ] }
instance_group { count: 3 kind: KIND_GPU }
parameters { key: "a" value { string_value: "1" } } parameters { key: "b" value { string_value: "2" } }
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }`},
		"remove": {Patch{"dynamic_batching": nil, "instance_group": nil}, `name: "m" max_batch_size: 4
parameters { key: "a" value { string_value: "1" } } input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }`},
		"new message": {Patch{"response_cache": map[string]any{"enable": true}}, base + ` response_cache { enable: true }`},
	} {
		t.Run(name, func(t *testing.T) {
			from := parse(t, base)
			got, err := c.patch.Apply(from)
			require.NoError(t, err)
			assert.True(t, proto.Equal(parse(t, c.want), got), "%v", got)
			assert.True(t, proto.Equal(parse(t, base), from), "the base is not changed")
		})
	}
	_, err := Patch{"max_batch": 2}.Apply(parse(t, base))
	require.ErrorContains(t, err, `model "m": the configuration with the changes of the search: `)
	require.ErrorContains(t, err, "max_batch")
}
