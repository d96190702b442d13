package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
	"triton/server/backend"
)

func config(t *testing.T, text string) backend.Spec {
	t.Helper()
	cfg := &inferencepb.ModelConfig{}
	require.NoError(t, prototext.Unmarshal([]byte(text), cfg))
	return backend.Spec{Name: "m", Config: cfg}
}

func param(key, value string) string {
	return `parameters { key: "` + key + `" value { string_value: "` + value + `" } } `
}

func TestParseOptions(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for text, want := range map[string]options{
		``:                                                {optimized: true, level: levelAll},
		`optimization { graph { level: -1 } }`:            {optimized: true, level: levelBasic},
		`optimization { graph { level: 1 } }`:             {optimized: true, level: levelExtended},
		`optimization { graph { level: 2 } }`:             {optimized: true, level: levelDisable},
		`optimization { graph { level: 7 } }`:             {optimized: true, level: levelAll},
		param("execution_mode", "1"):                      {optimized: true, level: levelAll, mode: modeParallel},
		param("intra_op_thread_count", "3"):               {optimized: true, level: levelAll, intra: 3},
		param("intra_op_thread_count", " +3.5x"):          {optimized: true, level: levelAll, intra: 3},
		param("inter_op_thread_count", "4"):               {optimized: true, level: levelAll, inter: 4},
		param("enable_mem_arena", "ON"):                   {optimized: true, level: levelAll, arena: &yes},
		param("enable_mem_pattern", "False"):              {optimized: true, level: levelAll, pattern: &no},
		param("unknown", "value"):                         {optimized: true, level: levelAll},
		param("session.b", "2") + param("session.a", "1"): {optimized: true, level: levelAll, entries: []pair{{"session.a", "1"}, {"session.b", "2"}}},
		param("memory.enable_memory_arena_shrinkage", "cpu:0"): {
			optimized:  true,
			level:      levelAll,
			runEntries: []pair{{"memory.enable_memory_arena_shrinkage", "cpu:0"}},
		},
		`model_operations { op_library_filename: "a.so" }`: {optimized: true, level: levelAll, libraries: []string{"a.so"}},
		// Only a GPU's session reads these.
		`optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }`: {optimized: true, level: levelAll},
	} {
		got, err := parseOptions(config(t, text), false)
		require.NoError(t, err, text)
		require.Equal(t, &want, got, text)
	}
}

func TestParseCUDAOptions(t *testing.T) {
	t.Parallel()
	got, err := parseOptions(config(t, param("gpu_mem_limit", "100")+param("cudnn_conv_algo_search", "1")+param("arena_extend_strategy", "1")+`
		optimization { execution_accelerators { gpu_execution_accelerator { name: "cuda"
			parameters { key: "gpu_mem_limit" value: "200" } parameters { key: "do_copy_in_default_stream" value: "1" } } } }`), true)
	require.NoError(t, err)
	cuda, _ := requirement.GPUProvider(&requirement.Accelerator{Name: "cuda"})
	cuda.Options = []requirement.ProviderOption{
		{Key: "arena_extend_strategy", Value: "kSameAsRequested"},
		{Key: "cudnn_conv_algo_search", Value: "HEURISTIC"},
		{Key: "do_copy_in_default_stream", Value: "1"},
		{Key: "gpu_mem_limit", Value: "200"},
	}
	require.Equal(t, []requirement.Provider{cuda}, got.providers)
}

func TestParseOptionsFaults(t *testing.T) {
	t.Parallel()
	entry := func(side, name string) string {
		return `optimization { execution_accelerators { ` + side + `_execution_accelerator { name: "` + name + `" } } }`
	}
	for text, want := range map[string]string{
		param("execution_mode", "2"):         "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got 2 .",
		param("execution_mode", "one"):       "failed to convert 'one' to integral number",
		param("intra_op_thread_count", "-"):  "failed to convert '-' to integral number",
		param("enable_mem_arena", "maybe"):   "failed to convert 'maybe' to boolean",
		param("cudnn_conv_algo_search", "3"): "unsupported cudnn_conv_algo_search value '3' is requested",
		param("arena_extend_strategy", "2"):  "unsupported arena_extend_strategy value '2' is requested",
		param("gpu_mem_limit", "-1"):         "failed to convert '-1' to integral number",
		entry("gpu", "openvino"):             "unknown Execution Accelerator 'openvino' is requested",
		entry("gpu", "auto_mixed_precision"): "unknown Execution Accelerator 'auto_mixed_precision' is requested",
		entry("cpu", "tensorrt"):             "unknown Execution Accelerator 'tensorrt' is requested",
		entry("cpu", "nosuch"):               "unknown Execution Accelerator 'nosuch' is requested",
		param("onnxruntime_profile", "x"):    "failed to convert 'x' to boolean",
	} {
		_, err := parseOptions(config(t, text+" instance_group { kind: KIND_GPU }"), true)
		require.EqualError(t, err, want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

func TestDefaultMaxBatch(t *testing.T) {
	t.Parallel()
	n, err := defaultMaxBatch(nil)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	n, err = defaultMaxBatch(map[string]string{"default-max-batch-size": "16"})
	require.NoError(t, err)
	require.Equal(t, 16, n)
	_, err = defaultMaxBatch(map[string]string{"default-max-batch-size": "x"})
	require.EqualError(t, err, "failed to convert 'x' to integral number")
}

func TestPlanThreads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cpus, instances int
		o               options
		intra, inter    int
	}{
		{2, 1, options{}, 2, 0},
		{2, 2, options{}, 1, 0},
		{2, 8, options{}, 1, 0},
		{8, 1, options{}, 8, 0},
		{8, 3, options{}, 6, 0},
		{0, 0, options{}, 1, 0},
		{8, 1, options{intra: 2}, 2, 0},
		{8, 4, options{intra: 2}, 5, 0},
		{8, 2, options{intra: 1}, 1, 0},
		{8, 1, options{mode: modeParallel}, 8, 8},
		{8, 1, options{mode: modeParallel, inter: 2}, 8, 2},
	} {
		got := planThreads(c.cpus, c.instances, &c.o)
		require.Equal(t, c.intra, got.intra, "%+v", c)
		require.Equal(t, c.inter, got.inter, "%+v", c)
		if c.o.intra == 0 && c.instances <= c.cpus {
			require.Equal(t, max(c.cpus, 1), got.intra-1+max(c.instances, 1), "every processor has work")
		}
	}
}
