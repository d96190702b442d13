package requirement

import (
	"strconv"

	"triton/pkg/status"
)

var accelerators = map[string]*accelerator{
	"cuda": {
		title: "CUDA", provider: "CUDAExecutionProvider", short: "cuda", open: true,
		parameters: map[string]acceleratorParameter{"do_copy_in_default_stream": booleanOption, "use_ep_level_unified_stream": booleanOption},
	},
	"tensorrt": {title: "TensorRT", provider: "TensorrtExecutionProvider", short: "tensorrt", parameters: tensorRT},
	"openvino": {
		title: "OpenVINO", provider: "OpenVINOExecutionProvider", short: "openvino",
		fixed: map[string]string{"device_type": "CPU"}, parameters: openVINO, lenient: true,
	},
	"coreml": {title: "CoreML", provider: "CoreMLExecutionProvider", short: "CoreML", parameters: coreML},
	"xnnpack": {
		title: "XNNPACK", provider: "XnnpackExecutionProvider", short: "XNNPACK",
		parameters: map[string]acceleratorParameter{"intra_op_num_threads": integerOption},
	},
}

// tensorRT has the parameters of Triton's ONNX Runtime backend. Four have names of its own.
var tensorRT = map[string]acceleratorParameter{
	"precision_mode":                    precisionOption,
	"max_workspace_size_bytes":          namedOption("trt_max_workspace_size", sizeOption),
	"int8_calibration_table_name":       namedOption("trt_int8_calibration_table_name", textOption),
	"int8_use_native_calibration_table": namedOption("trt_int8_use_native_calibration_table", booleanOption),

	"trt_max_partition_iterations":   integerOption,
	"trt_min_subgraph_size":          integerOption,
	"trt_dla_core":                   integerOption,
	"trt_builder_optimization_level": integerOption,
	"trt_auxiliary_streams":          integerOption,
	"trt_ep_context_embed_mode":      integerOption,

	"trt_dla_enable":                    booleanOption,
	"trt_engine_cache_enable":           booleanOption,
	"trt_dump_subgraphs":                booleanOption,
	"trt_force_sequential_engine_build": booleanOption,
	"trt_context_memory_sharing_enable": booleanOption,
	"trt_layer_norm_fp32_fallback":      booleanOption,
	"trt_timing_cache_enable":           booleanOption,
	"trt_force_timing_cache":            booleanOption,
	"trt_detailed_build_log":            booleanOption,
	"trt_build_heuristics_enable":       booleanOption,
	"trt_sparsity_enable":               booleanOption,
	"trt_cuda_graph_enable":             booleanOption,
	"trt_dump_ep_context_model":         booleanOption,

	"trt_engine_cache_path":      textOption,
	"trt_engine_cache_prefix":    textOption,
	"trt_timing_cache_path":      textOption,
	"trt_tactic_sources":         textOption,
	"trt_extra_plugin_lib_paths": textOption,
	"trt_profile_min_shapes":     textOption,
	"trt_profile_max_shapes":     textOption,
	"trt_profile_opt_shapes":     textOption,
	"trt_ep_context_file_path":   textOption,
}

// openVINO has the options of ONNX Runtime's OpenVINO provider that are texts. Triton's backend
// sets device_type only and reads no parameters.
var openVINO = map[string]acceleratorParameter{
	"device_type":              textOption,
	"device_id":                textOption,
	"device_luid":              textOption,
	"precision":                textOption,
	"num_of_threads":           integerOption,
	"num_streams":              integerOption,
	"cache_dir":                textOption,
	"load_config":              textOption,
	"layout":                   textOption,
	"reshape_input":            textOption,
	"model_priority":           textOption,
	"enable_qdq_optimizer":     wordOption,
	"enable_opencl_throttling": wordOption,
	"disable_dynamic_shapes":   wordOption,
}

var coreML = map[string]acceleratorParameter{
	"ModelFormat":                        textOption,
	"MLComputeUnits":                     textOption,
	"RequireStaticInputShapes":           booleanOption,
	"EnableOnSubgraphs":                  booleanOption,
	"SpecializationStrategy":             textOption,
	"ProfileComputePlan":                 booleanOption,
	"AllowLowPrecisionAccumulationOnGPU": booleanOption,
	"ModelCacheDirectory":                textOption,
}

// namedOption stores the value as another option.
func namedOption(option string, p acceleratorParameter) acceleratorParameter {
	return func(_, value string, set map[string]string) error { return p(option, value, set) }
}

func textOption(key, value string, set map[string]string) error {
	set[key] = value
	return nil
}

func integerOption(key, value string, set map[string]string) error {
	n, err := ParseInteger(value)
	if err == nil {
		set[key] = strconv.Itoa(n)
	}
	return err
}

func sizeOption(key, value string, set map[string]string) error {
	n, err := ParseSize(value)
	if err == nil {
		set[key] = strconv.FormatUint(n, 10)
	}
	return err
}

// booleanOption stores 1 or 0, which every version of the providers reads. Triton's backend passes the
// text through, and the providers refuse some that it accepts, such as "on".
func booleanOption(key, value string, set map[string]string) error {
	on, err := ParseBool(value)
	if err != nil {
		return err
	}
	set[key] = "0"
	if on {
		set[key] = "1"
	}
	return nil
}

// wordOption stores true or false.
func wordOption(key, value string, set map[string]string) error {
	on, err := ParseBool(value)
	if err == nil {
		set[key] = strconv.FormatBool(on)
	}
	return err
}

func precisionOption(_, value string, set map[string]string) error {
	options := map[string]string{"FP32": "", "FP16": "trt_fp16_enable", "BF16": "trt_bf16_enable", "INT8": "trt_int8_enable"}
	option, ok := options[value]
	if !ok {
		return status.New(status.InvalidArg, "unsupported precision mode '%s' is requested", value)
	}
	if option != "" {
		set[option] = "1"
	}
	return nil
}
