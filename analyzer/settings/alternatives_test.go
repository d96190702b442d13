package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"triton/pkg/inferencepb"
)

// alternativesOf loads model_config_parameters, written as one line.
func alternativesOf(t *testing.T, text string) (Alternatives, error) {
	t.Helper()
	p, err := load(t, "model_repository: models\nprofile_models: {a: {model_config_parameters: "+text+"}}")
	if err != nil {
		return nil, err
	}
	return p.Models[0].Parameters, nil
}

func TestAlternatives(t *testing.T) {
	folder(t)
	for text, want := range map[string][]string{
		"{}":                       {`{}`},
		"{max_batch_size: 4}":      {`{"max_batch_size":4}`},
		"{max_batch_size: [2, 4]}": {`{"max_batch_size":2}`, `{"max_batch_size":4}`},
		"{max_batch_size: '4'}":    {`{"max_batch_size":4}`},
		"{instance_group: [{kind: KIND_GPU, count: [1, 2]}]}": {
			`{"instance_group":[{"count":1,"kind":"KIND_GPU"}]}`, `{"instance_group":[{"count":2,"kind":"KIND_GPU"}]}`,
		},
		"{instance_group: [[{kind: KIND_GPU, count: 1}], [{kind: KIND_CPU, count: 4}]]}": {
			`{"instance_group":[{"count":1,"kind":"KIND_GPU"}]}`, `{"instance_group":[{"count":4,"kind":"KIND_CPU"}]}`,
		},
		"{instance_group: [{kind: KIND_GPU, count: 1}, {kind: KIND_CPU, count: 4}]}": {
			`{"instance_group":[{"count":1,"kind":"KIND_GPU"},{"count":4,"kind":"KIND_CPU"}]}`,
		},
		"{instance_group: [{count: [1, 2]}, {count: [3, 4]}]}": {
			`{"instance_group":[{"count":1},{"count":3}]}`, `{"instance_group":[{"count":1},{"count":4}]}`,
			`{"instance_group":[{"count":2},{"count":3}]}`, `{"instance_group":[{"count":2},{"count":4}]}`,
		},
		"{instance_group: [[{count: [1, 2]}], [{count: 9}]]}": {
			`{"instance_group":[{"count":1}]}`, `{"instance_group":[{"count":2}]}`, `{"instance_group":[{"count":9}]}`,
		},
		"{dynamic_batching: {max_queue_delay_microseconds: [100, 200]}}": {
			`{"dynamic_batching":{"max_queue_delay_microseconds":100}}`, `{"dynamic_batching":{"max_queue_delay_microseconds":200}}`,
		},
		"{dynamic_batching: {preferred_batch_size: [4, 8]}}":     {`{"dynamic_batching":{"preferred_batch_size":[4,8]}}`},
		"{dynamic_batching: {preferred_batch_size: [[4], [8]]}}": {`{"dynamic_batching":{"preferred_batch_size":[4]}}`, `{"dynamic_batching":{"preferred_batch_size":[8]}}`},
		"{dynamic_batching: [{}, {preserve_ordering: true}]}":    {`{"dynamic_batching":{}}`, `{"dynamic_batching":{"preserve_ordering":true}}`},
		"{dynamic_batching: [null, {}]}":                         {`{"dynamic_batching":null}`, `{"dynamic_batching":{}}`},
		"{input: [{name: I, data_type: TYPE_FP32, dims: [256, 3]}]}": {
			`{"input":[{"data_type":"TYPE_FP32","dims":[256,3],"name":"I"}]}`,
		},
		"{parameters: {FORCE: {string_value: [a, b]}}}": {
			`{"parameters":{"FORCE":{"string_value":"a"}}}`, `{"parameters":{"FORCE":{"string_value":"b"}}}`,
		},
		"{optimization: {execution_accelerators: {gpu_execution_accelerator: [{name: tensorrt, parameters: {precision_mode: [FP16, FP32]}}]}}}": {
			`{"optimization":{"execution_accelerators":{"gpu_execution_accelerator":[{"name":"tensorrt","parameters":{"precision_mode":"FP16"}}]}}}`,
			`{"optimization":{"execution_accelerators":{"gpu_execution_accelerator":[{"name":"tensorrt","parameters":{"precision_mode":"FP32"}}]}}}`,
		},
		"{max_batch_size: [1, 2], response_cache: {enable: [true, false]}}": {
			`{"max_batch_size":1,"response_cache":{"enable":true}}`, `{"max_batch_size":1,"response_cache":{"enable":false}}`,
			`{"max_batch_size":2,"response_cache":{"enable":true}}`, `{"max_batch_size":2,"response_cache":{"enable":false}}`,
		},
		"{default_model_filename: 8}": {`{"default_model_filename":"8"}`},
	} {
		listed, err := alternativesOf(t, text)
		require.NoError(t, err, text)
		got := []string{}
		for _, patch := range listed.Combinations() {
			out, err := json.Marshal(patch)
			require.NoError(t, err)
			got = append(got, string(out))
			require.NoError(t, protojson.Unmarshal(out, &inferencepb.ModelConfig{}), "a patch is a configuration in JSON")
		}
		assert.Equal(t, want, got, text)
	}
}

func TestWrongAlternatives(t *testing.T) {
	folder(t)
	const at, name = "config.yaml:2: ", "profile_models.a.model_config_parameters."
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1, ", n), ", ") + "]" }
	for text, want := range map[string]string{
		"{instance_group: [{kind: GPU}]}":                        at + `Failed to set the value for field "` + name + `instance_group.kind". Error: Value "GPU" for field "kind" is not acceptable. Value should be one of the following values: "['KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL']"`,
		"{instance_group: [[{kin: KIND_GPU}]]}":                  at + `Key "kin" should not be specified in field "` + name + `instance_group". Did you mean "kind"?`,
		"{instance_group: [[{count: 1}], {count: big}]}":         at + `Field "` + name + `instance_group" is a sweep parameter. If you intend to provide a sweep parameter, fix the number one error, otherwise fix error number two: 1. config.yaml:2: Failed to set the value for field "` + name + `instance_group". Error: Value for field "` + name + `instance_group" must be a list, value is "{count: big}". 2. config.yaml:2: Failed to set the value for field "` + name + `instance_group". Error: Value for field "` + name + `instance_group" should be an object. Type <class 'list'> is provided instead.`,
		"{max_batch_size: [1, big]}":                             at + `Failed to set the value for field "` + name + `max_batch_size". Error: "big" is not an integer`,
		"{dynamic_batching: {max_queue_delay_microseconds: []}}": at + `Failed to set the value for field "` + name + `dynamic_batching.max_queue_delay_microseconds". Error: Value "[]" for field "` + name + `dynamic_batching.max_queue_delay_microseconds" should be a primitive type.`,
		"{max_batch_size: [[1]]}":                                at + `Failed to set the value for field "` + name + `max_batch_size". Error: Value "[1]" for field "` + name + `max_batch_size" should be a primitive type.`,
		"{response_cache: {enable: perhaps}}":                    at + `Failed to set the value for field "` + name + `response_cache.enable". Error: "perhaps" is neither true nor false`,
		"{max_batch_siz: 1}":                                     at + `Key "max_batch_siz" should not be specified in field "profile_models.a.model_config_parameters". Did you mean "max_batch_size"?`,
		"{parameters: [1]}":                                      at + `Failed to set the value for field "` + name + `parameters". Error: Value for field "` + name + `parameters" should be an object. Type <class 'int'> is provided instead.`,
		"3":                                                      at + `Failed to set the value for field "profile_models.a.model_config_parameters". Error: Value for field "profile_models.a.model_config_parameters" should be an object. Type <class 'int'> is provided instead.`,
		"{max_batch_size: " + many(400) + ", default_priority_level: 1, dynamic_batching: {max_queue_delay_microseconds: " + many(400) + "}}": at + `Key "default_priority_level" should not be specified in field "profile_models.a.model_config_parameters".`,
		"{max_batch_size: " + many(400) + ", dynamic_batching: {max_queue_delay_microseconds: " + many(400) + "}}":                            at + `Failed to set the value for field "profile_models.a.model_config_parameters". Error: the values have more than 100000 combinations`,
		"{instance_group: [{count: " + many(400) + "}, {count: " + many(400) + "}]}":                                                          at + `Failed to set the value for field "` + name + `instance_group". Error: the values have more than 100000 combinations`,
		"{dynamic_batching: {max_queue_delay_microseconds: " + many(400) + ", default_priority_level: " + many(400) + "}}":                    at + `Failed to set the value for field "` + name + `dynamic_batching.default_priority_level". Error: the values have more than 100000 combinations`,
	} {
		_, err := alternativesOf(t, text)
		short := text[:min(len(text), 80)]
		if assert.Error(t, err, short) {
			first, _, _ := strings.Cut(err.Error(), "\n")
			assert.Equal(t, want, first, short)
		}
	}
}
