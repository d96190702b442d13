package requirement_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
)

func parse(t *testing.T, text string) *modelconfig.Config {
	t.Helper()
	c, err := modelconfig.Parse("config.pbtxt", []byte(text))
	require.NoError(t, err)
	return c
}

const pair = `input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } `

func param(key, value string) string {
	return `parameters { key: "` + key + `" value { string_value: "` + value + `" } } `
}

func accelerators(side, entry string) string {
	return `optimization { execution_accelerators { ` + side + `_execution_accelerator { ` + entry + ` } } } `
}

// The findings have the field, its position and the text of the backend.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ backend, config, path, want string }{
		{"identity", pair, "", ""},
		{"identity", pair + param("execute_delay_ms", "-1"), `parameters["execute_delay_ms"]`, "parameter 'execute_delay_ms' must be a number that is not negative, got '-1'"},
		{"identity", `input { name: "INPUT0" }`, "output", "model configuration must have equal input/output pairs"},
		{"identity", `input { name: "INPUT0" dims: [ 1 ] } output { name: "OUTPUT0" dims: [ 2 ] }`, "output[0].dims", "expected input and output shape to match, got [1] and [2]"},
		{"identity", `input { name: "INPUT0" } output { name: "OUTPUT1" }`, "output[0].name", "expected input and output indices to match"},
		{"onnxruntime", param("intra_op_thread_count", "two"), `parameters["intra_op_thread_count"]`, "failed to convert 'two' to integral number"},
		{"onnxruntime", param("enable_mem_arena", "yes"), `parameters["enable_mem_arena"]`, "failed to convert 'yes' to boolean"},
		{"onnxruntime", param("gpu_mem_limit", "all"), "", ""},
		{"onnxruntime", param("gpu_mem_limit", "all") + "instance_group { kind: KIND_GPU }", `parameters["gpu_mem_limit"]`, "failed to convert 'all' to integral number"},
		{"onnxruntime", param("onnxruntime_profile", "x"), `parameters["onnxruntime_profile"]`, "failed to convert 'x' to boolean"},
		{"onnxruntime", `model_operations { op_library_filename: "" }`, "model_operations.op_library_filename[0]", "the name of a library with custom operators is empty"},
		{"onnxruntime", accelerators("cpu", `name: "openvino" parameters { key: "num_streams" value: "2" }`), "", ""},
		{"onnxruntime", accelerators("cpu", `name: "cuda"`), "optimization.execution_accelerators.cpu_execution_accelerator[0]", "unknown Execution Accelerator 'cuda' is requested"},
		{
			"onnxruntime", accelerators("cpu", `name: "coreml" parameters { key: "streams" value: "2" }`),
			`optimization.execution_accelerators.cpu_execution_accelerator[0].parameters["streams"]`, "unknown parameter 'streams' is provided for CoreML Execution Accelerator",
		},
		{"onnxruntime", accelerators("cpu", `name: "openvino" parameters { key: "streams" value: "2" } parameters { key: "num_streams" value: "many" }`), "", ""},
		{"onnxruntime", accelerators("gpu", `name: "tensorrt" parameters { key: "precision_mode" value: "FP8" }`), "", ""},
		{
			"onnxruntime", accelerators("gpu", `name: "tensorrt" parameters { key: "precision_mode" value: "FP8" }`) + "instance_group { kind: KIND_GPU }",
			`optimization.execution_accelerators.gpu_execution_accelerator[0].parameters["precision_mode"]`, "unsupported precision mode 'FP8' is requested",
		},
		{"python", param("FORCE_CPU_ONLY_INPUT_TENSORS", "maybe"), `parameters["FORCE_CPU_ONLY_INPUT_TENSORS"]`, "Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: maybe'"},
		{"tokenizer", param("vocabulary", "../v"), "input", "expected 1 input, got 0"},
		{"iterative_sequence", "instance_group { kind: KIND_MODEL }", "instance_group[0].kind", "'iterative_sequence' backend only supports CPU instances"},
		{"query", "", "", ""},
		{"of another program", param("intra_op_thread_count", "two"), "", ""},
	} {
		found := requirement.Check(c.backend, parse(t, c.config))
		if c.want == "" {
			require.Empty(t, found, c.config)
			continue
		}
		require.NotEmpty(t, found, c.config)
		require.Equal(t, c.want, found[0].Msg)
		require.Equal(t, c.path, found[0].Path)
		require.NotEmpty(t, found[0].Hint)
	}
}

// TestIgnored: Triton reads no parameters of OpenVINO, so that wrong ones do not keep a model from being served.
func TestIgnored(t *testing.T) {
	t.Parallel()
	c := parse(t, accelerators("cpu", `name: "openvino" parameters { key: "streams" value: "2" } parameters { key: "num_streams" value: "many" } parameters { key: "precision" value: "FP16" }`))
	found := requirement.Ignored("onnxruntime", c)
	require.Len(t, found, 2)
	require.Equal(t, `optimization.execution_accelerators.cpu_execution_accelerator[0].parameters["num_streams"]`, found[0].Path)
	require.Equal(t, "failed to convert 'many' to integral number", found[0].Msg)
	require.Equal(t, "unknown parameter 'streams' is provided for OpenVINO Execution Accelerator", found[1].Msg)
	require.Empty(t, requirement.Ignored("onnxruntime", parse(t, accelerators("cpu", `name: "cuda"`))))
	require.Empty(t, requirement.Ignored("python", c))
}

// The vocabulary of a tokenizer is a file of the version.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := parse(t, param("vocabulary", "v.txt"))
	require.Contains(t, requirement.Files("tokenizer", c, dir)[0].Msg, "No such file or directory; or set parameter 'vocabulary_size'")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "v.txt"), []byte("[PAD]\r\n[UNK]\r\n"), 0o600))
	require.Equal(t, "the vocabulary has no line [CLS]", requirement.Files("tokenizer", c, dir)[0].Msg)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "v.txt"), []byte("[PAD]\r\n[UNK]\r\n[CLS]\n[SEP]"), 0o600))
	require.Empty(t, requirement.Files("tokenizer", c, dir))
	require.Empty(t, requirement.Files("tokenizer", parse(t, param("vocabulary_size", "100")), dir))
	require.Empty(t, requirement.Files("identity", c, dir))
}

// A warm-up runs without a scheduler, so the sample must have what the scheduler adds.
func TestSamples(t *testing.T) {
	t.Parallel()
	const sequence = `sequence_batching { control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } state { input_name: "S" output_name: "T" } } `
	sample := `model_warmup { name: "w" batch_size: 1 inputs { key: "START" value { zero_data: true } } } model_warmup { name: "skipped" batch_size: 0 }`
	found := requirement.Samples("onnxruntime", parse(t, sequence+sample))
	require.Len(t, found, 1)
	require.Equal(t, "failed to run warmup sample 'w': [request id: <id_unknown>] input 'S' is missing; ", found[0].Msg)
	require.Empty(t, requirement.Samples("python", parse(t, sequence+sample)))
}
