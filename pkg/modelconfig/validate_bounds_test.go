package modelconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidateBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"instance_group { count: 512 }": "",
		"instance_group { count: 256 } instance_group { count: 257 }":                                                                                         "instance_group[1].count of model 'm' is 513, but this server allows at most 512 (--model-max-instances)",
		"instance_group { count: 2147483647 gpus: [ 0, 1 ] }":                                                                                                 "instance_group[0].count of model 'm' is 4294967294, but this server allows at most 512 (--model-max-instances)",
		`parameters { key: "intra_op_thread_count" value { string_value: "1024" } }`:                                                                          "",
		`parameters { key: "intra_op_thread_count" value { string_value: "20000" } }`:                                                                         "parameters[\"intra_op_thread_count\"] of model 'm' is 20000, but this server allows at most 1024 (--model-max-threads)",
		`parameters { key: "INTER_OP_THREAD_COUNT" value { string_value: "20000" } }`:                                                                         "parameters[\"INTER_OP_THREAD_COUNT\"] of model 'm' is 20000, but this server allows at most 1024 (--model-max-threads)",
		`parameters { key: "INFERENCE_NUM_THREADS" value { string_value: "20000" } }`:                                                                         "parameters[\"INFERENCE_NUM_THREADS\"] of model 'm' is 20000, but this server allows at most 1024 (--model-max-threads)",
		`parameters { key: "other" value { string_value: "20000" } }`:                                                                                         "",
		`optimization { execution_accelerators { cpu_execution_accelerator { name: "xnnpack" parameters { key: "intra_op_num_threads" value: "20000" } } } }`: "optimization.execution_accelerators.cpu_execution_accelerator[0].parameters[\"intra_op_num_threads\"] of model 'm' is 20000, but this server allows at most 1024 (--model-max-threads)",
		`model_warmup { name: "w" batch_size: 1 count: 100000 }`:                                                                                              "",
		`model_warmup { name: "w" batch_size: 0 count: 4294967295 }`:                                                                                          "",
		`model_warmup { name: "w" batch_size: 1 count: 4294967295 }`:                                                                                          "model_warmup[0].count of model 'm' is 4294967295, but this server allows at most 100000 (--model-max-warmup-requests)",
		`model_warmup { name: "w" batch_size: 4294967295 }`:                                                                                                   "model_warmup[0].batch_size of model 'm' is 4294967295, but this server allows at most 100000 (--model-max-warmup-requests)",
		`model_warmup { name: "w" batch_size: 1000 count: 101 }`:                                                                                              "model_warmup[0].batch_size of model 'm' is 101000, but this server allows at most 100000 (--model-max-warmup-requests)",
		`model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 67108864 zero_data: true } } }`:                          "",
		`model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 67108865 zero_data: true } } }`:                          "model_warmup[0].inputs[\"x\"].dims of model 'm' is 268435460, but this server allows at most 268435456 (--model-max-warmup-bytes)",
		`model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 4294967296 dims: 4294967296 zero_data: true } } }`:       "model_warmup[0].inputs[\"x\"].dims of model 'm' is more than 9223372036854775807, but this server allows at most 268435456 (--model-max-warmup-bytes)",
		`model_warmup { name: "w" batch_size: 1 count: 60000 } model_warmup { name: "v" batch_size: 1 count: 60000 }`:                                         "model_warmup[1].count of model 'm' is 120000, but this server allows at most 100000 (--model-max-warmup-requests)",
		strings.Repeat(`model_warmup { batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 60000000 zero_data: true } } } `, 2):                "model_warmup[1].inputs[\"x\"].dims of model 'm' is 480000000, but this server allows at most 268435456 (--model-max-warmup-bytes)",
		`sequence_batching { state { data_type: TYPE_FP32 dims: [ -1, 67108864 ] } }`:                                                                         "",
		`sequence_batching { state { data_type: TYPE_FP32 dims: [ 1000000, 1000000, 1000000, 1000000 ] } }`:                                                   "sequence_batching.state[0].dims of model 'm' is more than 9223372036854775807, but this server allows at most 268435456 (--model-max-state-bytes)",
		"sequence_batching { " + strings.Repeat("state { data_type: TYPE_INT64 dims: 20000000 } ", 2) + "}":                                                   "sequence_batching.state[1].dims of model 'm' is 320000000, but this server allows at most 268435456 (--model-max-state-bytes)",
		`sequence_batching { state { data_type: TYPE_FP32 dims: -1 initial_state { data_type: TYPE_FP32 dims: 1000000000 zero_data: true name: "x" } } }`:     "sequence_batching.state[0].initial_state[0].dims of model 'm' is 4000000000, but this server allows at most 268435456 (--model-max-state-bytes)",
		`sequence_batching { state { data_type: TYPE_STRING dims: 100000000 } }`:                                                                              "sequence_batching.state[0].dims of model 'm' is 400000000, but this server allows at most 268435456 (--model-max-state-bytes)",
	} {
		c, err := Parse(FileName, []byte(`name: "m" `+text))
		require.NoError(t, err, text)
		found := c.ValidateBounds(Bounds{})
		if want == "" {
			require.Empty(t, found, text)
			continue
		}
		require.Len(t, found, 1, text)
		require.Equal(t, want, found[0].Msg)
	}
	c, err := Parse(FileName, []byte(`name: "m" instance_group { count: 3 }`))
	require.NoError(t, err)
	require.Len(t, c.ValidateBounds(Bounds{Instances: 2}), 1)
}
