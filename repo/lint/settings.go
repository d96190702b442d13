package lint

import (
	"fmt"
	"maps"
	"slices"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/agent"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/spelling"
)

// onnxParameters are the keys that the ONNX Runtime backend reads.
var onnxParameters = []string{
	"arena_extend_strategy", "cudnn_conv_algo_search", "do_copy_in_default_stream", "enable_mem_arena", "enable_mem_pattern",
	"execution_mode", "gpu_mem_limit", "inter_op_thread_count", "intra_op_thread_count", "memory.enable_memory_arena_shrinkage",
	"session.use_device_allocator_for_initializers",
}

// parameters checks for misspelled keys of the backend. Unknown keys are ignored; they
// may be the user's own.
func (r *run) parameters() {
	if !r.isONNX() {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(r.written.Parameters)) {
		if slices.Contains(onnxParameters, key) {
			continue
		}
		if near, ok := spelling.Nearest(key, onnxParameters); ok {
			r.add(ruleParameter, fmt.Sprintf("parameters[%q]", key), fmt.Sprintf("the onnxruntime backend does not know parameter %q", key),
				fmt.Sprintf("did you mean %q?", near))
		}
	}
}

// noEffect reports the fields that a load accepts and the server does not read.
func (r *run) noEffect() {
	for _, f := range r.config.NoEffect() {
		r.add(ruleNoEffect, f.Path, f.Msg, f.Hint)
	}
}

// extensions checks the parameters that only this server reads, and misspelled keys of
// them.
func (r *run) extensions() {
	_, found := extension.Read(r.config)
	r.addAll(found)
	for _, key := range slices.Sorted(maps.Keys(r.written.Parameters)) {
		path := fmt.Sprintf("parameters[%q]", key)
		reported := slices.ContainsFunc(found, func(f modelconfig.Finding) bool { return f.Path == path })
		if near, ok := spelling.Nearest(key, extension.Keys()); ok && near != key && !reported {
			r.add(ruleParameter, path, fmt.Sprintf("the server does not know parameter %q", key), fmt.Sprintf("did you mean %q?", near))
		}
	}
}

// agents runs the repository agents, as a load does.
func (r *run) agents() {
	if !r.ConfigOnly {
		r.addAll(agent.Run(r.config, r.FS()))
	}
}

// tensors checks for names that are given twice, which a load does not notice.
func (r *run) tensors() {
	twice := func(kind string, names []string) {
		for i, name := range names {
			if name != "" && slices.Contains(names[:i], name) {
				r.add(ruleDuplicate, fmt.Sprintf("%s[%d].name", kind, i), fmt.Sprintf("%s '%s' is listed twice", kind, name), "remove one")
			}
		}
	}
	var in, out []string
	for _, t := range r.written.Input {
		in = append(in, t.Name)
	}
	for _, t := range r.written.Output {
		out = append(out, t.Name)
	}
	twice("input", in)
	twice("output", out)
}
