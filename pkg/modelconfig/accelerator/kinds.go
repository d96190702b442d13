package accelerator

import (
	"strconv"

	"triton/pkg/modelconfig/textvalue"
	"triton/pkg/status"
)

var kinds = map[string]*kind{
	"cuda": {
		title: "CUDA", provider: "CUDAExecutionProvider", short: "cuda", open: true,
		parameters: map[string]parameter{"do_copy_in_default_stream": boolean, "use_ep_level_unified_stream": boolean},
	},
	"tensorrt": {title: "TensorRT", provider: "TensorrtExecutionProvider", short: "tensorrt", parameters: tensorRT},
	"openvino": {
		title: "OpenVINO", provider: "OpenVINOExecutionProvider", short: "openvino",
		fixed: map[string]string{"device_type": "CPU"}, parameters: openVINO, lenient: true,
	},
	"coreml": {title: "CoreML", provider: "CoreMLExecutionProvider", short: "CoreML", parameters: coreML},
	"xnnpack": {
		title: "XNNPACK", provider: "XnnpackExecutionProvider", short: "XNNPACK",
		parameters: map[string]parameter{"intra_op_num_threads": integer},
	},
}

// tensorRT has the parameters of Triton's ONNX Runtime backend. Four have names of its own.
var tensorRT = map[string]parameter{
	"precision_mode":                    precision,
	"max_workspace_size_bytes":          named("trt_max_workspace_size", size),
	"int8_calibration_table_name":       named("trt_int8_calibration_table_name", text),
	"int8_use_native_calibration_table": named("trt_int8_use_native_calibration_table", boolean),

	"trt_max_partition_iterations":   integer,
	"trt_min_subgraph_size":          integer,
	"trt_dla_core":                   integer,
	"trt_builder_optimization_level": integer,
	"trt_auxiliary_streams":          integer,
	"trt_ep_context_embed_mode":      integer,

	"trt_dla_enable":                    boolean,
	"trt_engine_cache_enable":           boolean,
	"trt_dump_subgraphs":                boolean,
	"trt_force_sequential_engine_build": boolean,
	"trt_context_memory_sharing_enable": boolean,
	"trt_layer_norm_fp32_fallback":      boolean,
	"trt_timing_cache_enable":           boolean,
	"trt_force_timing_cache":            boolean,
	"trt_detailed_build_log":            boolean,
	"trt_build_heuristics_enable":       boolean,
	"trt_sparsity_enable":               boolean,
	"trt_cuda_graph_enable":             boolean,
	"trt_dump_ep_context_model":         boolean,

	"trt_engine_cache_path":      text,
	"trt_engine_cache_prefix":    text,
	"trt_timing_cache_path":      text,
	"trt_tactic_sources":         text,
	"trt_extra_plugin_lib_paths": text,
	"trt_profile_min_shapes":     text,
	"trt_profile_max_shapes":     text,
	"trt_profile_opt_shapes":     text,
	"trt_ep_context_file_path":   text,
}

// openVINO has the options of ONNX Runtime's OpenVINO provider that are texts. Triton's backend
// sets device_type only and reads no parameters.
var openVINO = map[string]parameter{
	"device_type":              text,
	"device_id":                text,
	"device_luid":              text,
	"precision":                text,
	"num_of_threads":           integer,
	"num_streams":              integer,
	"cache_dir":                text,
	"load_config":              text,
	"layout":                   text,
	"reshape_input":            text,
	"model_priority":           text,
	"enable_qdq_optimizer":     word,
	"enable_opencl_throttling": word,
	"disable_dynamic_shapes":   word,
}

var coreML = map[string]parameter{
	"ModelFormat":                        text,
	"MLComputeUnits":                     text,
	"RequireStaticInputShapes":           boolean,
	"EnableOnSubgraphs":                  boolean,
	"SpecializationStrategy":             text,
	"ProfileComputePlan":                 boolean,
	"AllowLowPrecisionAccumulationOnGPU": boolean,
	"ModelCacheDirectory":                text,
}

// named stores the value as another option.
func named(option string, p parameter) parameter {
	return func(_, value string, set map[string]string) error { return p(option, value, set) }
}

func text(key, value string, set map[string]string) error {
	set[key] = value
	return nil
}

func integer(key, value string, set map[string]string) error {
	n, err := textvalue.Integer(value)
	if err == nil {
		set[key] = strconv.Itoa(n)
	}
	return err
}

func size(key, value string, set map[string]string) error {
	n, err := textvalue.Size(value)
	if err == nil {
		set[key] = strconv.FormatUint(n, 10)
	}
	return err
}

// boolean stores 1 or 0, which every version of the providers reads. Triton's backend passes the
// text through, and the providers refuse some that it accepts, such as "on".
func boolean(key, value string, set map[string]string) error {
	on, err := textvalue.Bool(value)
	if err != nil {
		return err
	}
	set[key] = "0"
	if on {
		set[key] = "1"
	}
	return nil
}

// word stores true or false.
func word(key, value string, set map[string]string) error {
	on, err := textvalue.Bool(value)
	if err == nil {
		set[key] = strconv.FormatBool(on)
	}
	return err
}

func precision(_, value string, set map[string]string) error {
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
