package requirement

import (
	"fmt"
	"slices"
	"strconv"

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
	accelerators := k.GetOptimization().GetExecutionAccelerators()
	const path = "optimization.execution_accelerators"
	for i, a := range accelerators.GetCpuExecutionAccelerator() {
		k.unknownAccelerator(fmt.Sprintf("%s.cpu_execution_accelerator[%d]", path, i), a.GetName())
	}
	if !slices.ContainsFunc(k.InstanceGroup, func(g *inferencepb.ModelInstanceGroup) bool {
		return g.GetKind() == inferencepb.ModelInstanceGroup_KIND_GPU
	}) {
		return // the options below are read for a GPU only
	}
	k.value("cudnn_conv_algo_search", "write 0, 1 or 2", choice("cudnn_conv_algo_search", len(ConvSearches)))
	k.value("arena_extend_strategy", "write 0 or 1", choice("arena_extend_strategy", len(ArenaStrategies)))
	k.value("gpu_mem_limit", "write a number of bytes", unsigned)
	k.value("do_copy_in_default_stream", "write 0 or 1", unsigned)
	for i, a := range accelerators.GetGpuExecutionAccelerator() {
		at := fmt.Sprintf("%s.gpu_execution_accelerator[%d]", path, i)
		if a.GetName() != "cuda" {
			k.unknownAccelerator(at, a.GetName())
			continue
		}
		for _, key := range []string{"do_copy_in_default_stream", "use_ep_level_unified_stream"} {
			if v, ok := a.GetParameters()[key]; ok {
				if err := boolean(v); err != nil {
					k.add(ruleParameters, fmt.Sprintf("%s.parameters[%q]", at, key), `write "1" or "0"`, "%s", err.Error())
				}
			}
		}
	}
}

func (k *checker) unknownAccelerator(path, name string) {
	k.add(ruleParameters, path, "remove it: this server's ONNX Runtime has CUDA only", "unknown Execution Accelerator '%s' is requested", name)
}

func (k *checker) mode() {
	const key = "execution_mode"
	v, ok := k.GetParameters()[key]
	if !ok {
		return
	}
	n, err := Integer(v.GetStringValue())
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
	_, err := Integer(text)
	return err
}

func unsigned(text string) error {
	if _, err := strconv.ParseUint(text, 10, 64); err != nil {
		return status.New(status.InvalidArg, "failed to convert '%s' to integral number", text)
	}
	return nil
}

func boolean(text string) error {
	_, err := Bool(text)
	return err
}

func choice(key string, n int) func(string) error {
	return func(text string) error {
		i, err := Integer(text)
		if err == nil && (i < 0 || i >= n) {
			err = status.New(status.InvalidArg, "unsupported %s value '%d' is requested", key, i)
		}
		return err
	}
}
