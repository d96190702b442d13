package requirement

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

func entry(name string, keysAndValues ...string) *Accelerator {
	a := &Accelerator{Name: name, Parameters: map[string]string{}}
	for i := 0; i < len(keysAndValues); i += 2 {
		a.Parameters[keysAndValues[i]] = keysAndValues[i+1]
	}
	return a
}

func written(p Provider) string {
	var parts []string
	for _, o := range p.Options {
		parts = append(parts, o.Key+"="+o.Value)
	}
	return p.Name + " " + strings.Join(parts, " ")
}

func TestGPU(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]*Accelerator{
		"CUDAExecutionProvider ": entry("cuda"),
		"CUDAExecutionProvider do_copy_in_default_stream=1 gpu_mem_limit=20": entry("cuda", "gpu_mem_limit", "20", "do_copy_in_default_stream", "on"),
		"TensorrtExecutionProvider ":                                         entry("tensorrt", "precision_mode", "FP32", "trt_engine_cache_path", ""),
		"TensorrtExecutionProvider trt_fp16_enable=1":                        entry("tensorrt", "precision_mode", "FP16"),
		"TensorrtExecutionProvider trt_bf16_enable=1":                        entry("tensorrt", "precision_mode", "BF16"),
		"TensorrtExecutionProvider trt_int8_calibration_table_name=t trt_int8_enable=1 trt_int8_use_native_calibration_table=0": entry("tensorrt",
			"precision_mode", "INT8", "int8_calibration_table_name", "t", "int8_use_native_calibration_table", "false"),
		"TensorrtExecutionProvider trt_engine_cache_enable=1 trt_engine_cache_path=/c trt_max_workspace_size=8589934592": entry("tensorrt",
			"max_workspace_size_bytes", "8589934592", "trt_engine_cache_enable", "True", "trt_engine_cache_path", "/c"),
	} {
		p, faults := GPUProvider(a)
		require.Empty(t, faults)
		require.Equal(t, want, written(p))
		require.True(t, p.Separate())
	}
}

func TestCPU(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]*Accelerator{
		"OpenVINOExecutionProvider device_type=CPU":                             entry("openvino"),
		"OpenVINOExecutionProvider device_type=GPU.0 num_streams=2":             entry("openvino", "device_type", "GPU.0", "num_streams", "2"),
		"OpenVINOExecutionProvider device_type=CPU disable_dynamic_shapes=true": entry("openvino", "disable_dynamic_shapes", "1"),
		"CoreMLExecutionProvider MLComputeUnits=CPUOnly ModelFormat=MLProgram":  entry("coreml", "ModelFormat", "MLProgram", "MLComputeUnits", "CPUOnly"),
		"XnnpackExecutionProvider intra_op_num_threads=3":                       entry("xnnpack", "intra_op_num_threads", "3"),
	} {
		p, faults := CPUProvider(a)
		require.Empty(t, faults)
		require.Equal(t, want, written(p))
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]*Accelerator{
		"unknown Execution Accelerator 'openvino' is requested":                              entry("openvino"),
		"unknown Execution Accelerator '' is requested":                                      entry(""),
		"unknown Execution Accelerator 'CUDA' is requested":                                  entry("CUDA"),
		"unknown parameter 'trt_fp16_enable' is provided for TensorRT Execution Accelerator": entry("tensorrt", "trt_fp16_enable", "1"),
		"unsupported precision mode 'fp16' is requested":                                     entry("tensorrt", "precision_mode", "fp16"),
		"failed to convert 'much' to integral number":                                        entry("tensorrt", "max_workspace_size_bytes", "much"),
		"failed to convert 'x' to integral number":                                           entry("tensorrt", "trt_dla_core", "x"),
		"failed to convert 'yes' to boolean":                                                 entry("tensorrt", "trt_dla_enable", "yes"),
		"failed to convert '2' to boolean":                                                   entry("cuda", "use_ep_level_unified_stream", "2"),
	} {
		_, faults := GPUProvider(a)
		require.Len(t, faults, 1, want)
		require.EqualError(t, faults[0].Err, want)
		require.Equal(t, status.InvalidArg, status.CodeOf(faults[0].Err))
		require.NotEmpty(t, faults[0].Hint)
	}
	p, faults := CPUProvider(entry("openvino", "context", "0x0", "num_streams", "many", "precision", "FP16"))
	require.Len(t, faults, 2)
	require.True(t, faults[0].Ignored && faults[1].Ignored, "Triton reads no parameter of it")
	require.Equal(t, "OpenVINOExecutionProvider device_type=CPU precision=FP16", written(p))
	_, faults2 := CPUProvider(entry("coreml", "context", "0x0"))
	require.False(t, faults2[0].Ignored)
	require.EqualError(t, faults[0].Err, "unknown parameter 'context' is provided for OpenVINO Execution Accelerator")
	require.Equal(t, "num_streams", faults[1].Key)
}

// TestEveryParameter gives each parameter a value of its kind and one that no kind reads.
func TestEveryParameter(t *testing.T) {
	t.Parallel()
	for name, k := range accelerators {
		for _, key := range slices.Sorted(maps.Keys(k.parameters)) {
			if key == "precision_mode" {
				continue
			}
			set := map[string]string{}
			require.Nil(t, k.parameter(key, "1", set), "%s %s", name, key)
			require.Len(t, set, 1, "%s %s", name, key)
			for _, value := range set {
				require.Contains(t, []string{"1", "true"}, value, "%s %s", name, key)
			}
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	p, _ := GPUProvider(entry("cuda", "gpu_mem_limit", "20"))
	q := p.With("device_id", "1").With("gpu_mem_limit", "30")
	require.Equal(t, "CUDAExecutionProvider device_id=1 gpu_mem_limit=30", written(q))
	require.Equal(t, "CUDAExecutionProvider gpu_mem_limit=20", written(p), "p is unchanged")
	v, ok := q.Get("device_id")
	require.True(t, ok)
	require.Equal(t, "1", v)
	_, ok = q.Get("none")
	require.False(t, ok)
}

// TestParametersOfFiles: a new parameter that names a file needs a row in the fields of modelconfig's TestNamesOfFiles.
func TestParametersOfFiles(t *testing.T) {
	t.Parallel()
	isFile := regexp.MustCompile("(^|_)(files?|filenames?|paths?|folder|dir)(_|$)|table_name$|load_config$")
	var all []string
	for _, a := range accelerators {
		for key := range a.parameters {
			if isFile.MatchString(key) {
				all = append(all, key)
			}
		}
	}
	require.ElementsMatch(t, []string{
		"cache_dir", "load_config", "int8_calibration_table_name", "trt_extra_plugin_lib_paths", "trt_timing_cache_path",
		"trt_ep_context_file_path", "trt_engine_cache_path",
	}, all)
}
