package lint

import (
	"fmt"
	"slices"
	"strconv"

	pb "triton/pkg/inferencepb"
	"triton/repo"
)

// groups checks the kind, the GPUs and the count of each instance group.
func (r *run) groups() {
	if r.isEnsemble() {
		return
	}
	for i, g := range r.written.InstanceGroup {
		field := fmt.Sprintf("instance_group[%d]", i)
		switch {
		case g.Count < 0 || g.Count == 0 && r.written.Has(field+".count"):
			r.add(ruleCount, field+".count", fmt.Sprintf("count %d means the default of %d", g.Count, r.config.InstanceGroup[i].Count),
				"write the number of instances")
		case g.Kind == pb.ModelInstanceGroup_KIND_GPU && len(g.Gpus) == 0 && g.Count > 1:
			r.add(ruleAllGPUs, field, fmt.Sprintf("%d instances run on every GPU of the machine", g.Count), "list gpus to choose some")
		}
		if r.config.Backend == "tensorrt" && (g.Kind == pb.ModelInstanceGroup_KIND_CPU || g.Kind == pb.ModelInstanceGroup_KIND_MODEL) {
			r.add(repo.Rule{ID: "TRN406", Severity: repo.Error}, field+".kind", fmt.Sprintf("the group has kind %s, but TensorRT runs on GPUs only", g.Kind), "write kind: KIND_GPU")
		}
		if g.Kind == pb.ModelInstanceGroup_KIND_AUTO && len(g.Gpus) > 0 {
			r.add(ruleAutoGPU, field+".gpus", "on a machine that lacks one of these GPUs the group becomes KIND_CPU and fails",
				"write kind: KIND_GPU")
		}
	}
	r.processors()
}

// enginesWithThreads are the backends whose instances compute with threads of their own. Instances
// of others often wait.
var enginesWithThreads = []string{"onnxruntime", "tensorflow", "pytorch", "openvino", "fil", "xgboost", "lightgbm", "sklearn"}

// processors compares instances and their threads with the machine.
func (r *run) processors() {
	if r.options.CPUs == 0 {
		return
	}
	instances := 0
	for _, g := range r.config.InstanceGroup {
		if g.Kind == pb.ModelInstanceGroup_KIND_CPU {
			instances += int(g.Count)
		}
	}
	threads, field := 1, "instance_group"
	const key = "intra_op_thread_count"
	if p := r.config.Parameters[key]; p != nil && r.isONNX() {
		if n, err := strconv.Atoi(p.StringValue); err == nil && n > 0 {
			threads, field = n, fmt.Sprintf("parameters[%q]", key)
		}
	}
	// Without instance_group the server chooses the count itself.
	if len(r.written.InstanceGroup) == 0 || instances*threads <= r.options.CPUs {
		return
	}
	if !slices.Contains(enginesWithThreads, r.config.Backend) {
		r.add(ruleManyInstances, field, fmt.Sprintf("%d CPU instances share %d processors", instances, r.options.CPUs),
			"more instances than processors help only if they wait for something else")
		return
	}
	msg, hint := fmt.Sprintf("%d CPU instances", instances), "lower count"
	if threads > 1 {
		msg += fmt.Sprintf(" of %d threads", threads)
		hint = "lower count or intra_op_thread_count"
	}
	r.add(ruleTooManyThreads, field, fmt.Sprintf("%s share %d processors", msg, r.options.CPUs),
		hint+": more threads than processors make every request slower")
}
