package requirement

import (
	"fmt"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// ArenaStrategies and ConvSearches are the choices of arena_extend_strategy and
// cudnn_conv_algo_search, by number.
var (
	ArenaStrategies = []string{"kNextPowerOfTwo", "kSameAsRequested"}
	ConvSearches    = []string{"EXHAUSTIVE", "HEURISTIC", "DEFAULT"}
)

// onnx checks the options of sessions of ONNX Runtime.
func (k *checker) onnx() {
	k.mode()
	k.value("intra_op_thread_count", "write a number of threads", integer)
	k.value("inter_op_thread_count", "write a number of threads", integer)
	k.value("enable_mem_arena", `write "1" or "0"`, boolean)
	k.value("enable_mem_pattern", `write "1" or "0"`, boolean)
	k.value("onnxruntime_profile", `write "true" or "false"`, boolean)
	k.value("onnxruntime_optimized_model", `write "true" or "false"`, boolean)
	k.customOperators()
	k.cpuAccelerators()
	if !slices.ContainsFunc(k.InstanceGroup, func(g *inferencepb.ModelInstanceGroup) bool {
		return g.GetKind() == inferencepb.ModelInstanceGroup_KIND_GPU
	}) {
		return // the options below are read for a GPU only
	}
	k.value("cudnn_conv_algo_search", "write 0, 1 or 2", choice("cudnn_conv_algo_search", len(ConvSearches)))
	k.value("arena_extend_strategy", "write 0 or 1", choice("arena_extend_strategy", len(ArenaStrategies)))
	k.value("gpu_mem_limit", "write a number of bytes", unsigned)
	k.value("do_copy_in_default_stream", "write 0 or 1", unsigned)
	for i, a := range k.GetOptimization().GetExecutionAccelerators().GetGpuExecutionAccelerator() {
		_, faults := GPUProvider(a)
		k.accelerator("gpu", i, faults)
	}
}

func (k *checker) cpuAccelerators() {
	for i, a := range k.GetOptimization().GetExecutionAccelerators().GetCpuExecutionAccelerator() {
		_, faults := CPUProvider(a)
		k.accelerator("cpu", i, faults)
	}
}

// accelerator reports the mistakes of entry i of an accelerator list.
func (k *checker) accelerator(side string, i int, faults []AcceleratorFault) {
	for _, f := range faults {
		path := fmt.Sprintf("optimization.execution_accelerators.%s_execution_accelerator[%d]", side, i)
		if f.Key != "" {
			path += fmt.Sprintf(".parameters[%q]", f.Key)
		}
		if f.Ignored == k.ignored {
			k.add(ruleParameters, path, f.Hint, "%s", f.Err.Error())
		}
	}
}

// customOperators checks the names of libraries with operators.
func (k *checker) customOperators() {
	for i, name := range k.GetModelOperations().GetOpLibraryFilename() {
		if name == "" {
			k.add(ruleParameters, fmt.Sprintf("model_operations.op_library_filename[%d]", i), "write the path of a library", "the name of a library with custom operators is empty")
		}
	}
}

func (k *checker) mode() {
	const key = "execution_mode"
	v, ok := k.GetParameters()[key]
	if !ok {
		return
	}
	n, err := ParseInteger(v.GetStringValue())
	if err == nil && n != 0 && n != 1 {
		err = status.New(status.InvalidArg, "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got %d .", n)
	}
	k.parameter(key, "write 0 (sequential) or 1 (parallel)", err)
}

// value checks a parameter, if it is set.
func (k *checker) value(key, hint string, check func(string) error) {
	if v, ok := k.GetParameters()[key]; ok {
		k.parameter(key, hint, check(v.GetStringValue()))
	}
}

func integer(text string) error {
	_, err := ParseInteger(text)
	return err
}

func unsigned(text string) error {
	_, err := ParseSize(text)
	return err
}

func boolean(text string) error {
	_, err := ParseBool(text)
	return err
}

func choice(key string, n int) func(string) error {
	return func(text string) error {
		i, err := ParseInteger(text)
		if err == nil && (i < 0 || i >= n) {
			err = status.New(status.InvalidArg, "unsupported %s value '%d' is requested", key, i)
		}
		return err
	}
}
