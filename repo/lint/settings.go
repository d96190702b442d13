package lint

import (
	"fmt"
	"maps"
	"slices"

	"triton/pkg/modelconfig"
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
		r.addAll(modelconfig.RunAgents(r.config, r.FS()))
	}
}

// namedTensor is a tensor of the model that a field of the configuration names.
type namedTensor struct {
	kind, path, name string
	made             bool // by the server, not by the caller
}

// tensors checks for names that are given twice, which a load does not notice. Of the tensors that the model
// gets, inputs are the caller's; controls, states and batch inputs are made by the server.
func (r *run) tensors() {
	var in, out []namedTensor
	for i, t := range r.written.Input {
		in = append(in, namedTensor{"input", fmt.Sprintf("input[%d].name", i), t.Name, false})
	}
	for i, t := range r.written.GetSequenceBatching().GetControlInput() {
		in = append(in, namedTensor{controlInput, fmt.Sprintf("sequence_batching.control_input[%d].name", i), t.Name, true})
	}
	for i, t := range r.written.Output {
		out = append(out, namedTensor{"output", fmt.Sprintf("output[%d].name", i), t.Name, false})
	}
	var stateOutputs []namedTensor // that may be outputs too
	for i, t := range r.written.GetSequenceBatching().GetState() {
		path := fmt.Sprintf("sequence_batching.state[%d]", i)
		in = append(in, namedTensor{"state input", path + ".input_name", t.InputName, true})
		stateOutputs = append(stateOutputs, namedTensor{"state output", path + ".output_name", t.OutputName, true})
	}
	for i, t := range r.written.BatchInput {
		for j, name := range t.TargetName {
			in = append(in, namedTensor{"batch input", fmt.Sprintf("batch_input[%d].target_name[%d]", i, j), name, true})
		}
	}
	r.twice(in)
	r.twice(out)
	r.twice(stateOutputs)
}

const controlInput = "control input"

func (r *run) twice(all []namedTensor) {
	for i, t := range all {
		j := slices.IndexFunc(all[:i], func(earlier namedTensor) bool { return earlier.name == t.name })
		switch {
		case t.name == "" || j < 0:
		case t.kind == all[j].kind && t.kind == controlInput: // fails the load
		case t.kind == all[j].kind:
			r.add(ruleDuplicate, t.path, fmt.Sprintf("%s '%s' is listed twice", t.kind, t.name), "remove one")
		case t.made && !all[j].made:
			r.add(ruleDuplicate, t.path, fmt.Sprintf("%s '%s' is an %s too", t.kind, t.name, all[j].kind), "remove the "+all[j].kind+": the server makes this tensor")
		default:
			r.add(ruleDuplicate, t.path, fmt.Sprintf("%s '%s' is a %s too", t.kind, t.name, all[j].kind), "name the tensor of the model that each of them is")
		}
	}
}
