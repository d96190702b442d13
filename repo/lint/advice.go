package lint

import (
	"fmt"
	"os"
	"slices"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/spelling"
)

// advice reports what loads and could serve better.
func (r *run) advice() {
	r.unservedVersions()
	if r.isEnsemble() {
		return
	}
	r.largestPreferred()
	r.lengths()
	r.noWarmup()
	r.warmupInputs()
	r.metricFamilies()
	r.libraries()
}

// unservedVersions reports versions that the default policy leaves out.
func (r *run) unservedVersions() {
	if r.ConfigOnly || r.written.GetVersionPolicy() != nil || len(r.served) == 0 {
		return
	}
	var others []int64
	for _, v := range r.Versions {
		if v.Ignored == "" && v.Number != r.served[0].Number {
			others = append(others, v.Number)
		}
	}
	if len(others) > 0 {
		r.add(ruleUnserved, "version_policy", fmt.Sprintf("only version %d is served, and not %s: there is no version_policy", r.served[0].Number, listed(others)),
			"write version_policy, or remove the old versions")
	}
}

// largestPreferred reports batches that never form: none is larger than the largest preferred
// size.
func (r *run) largestPreferred() {
	sizes := r.written.GetDynamicBatching().GetPreferredBatchSize()
	if len(sizes) == 0 {
		return
	}
	if largest := slices.Max(sizes); largest > 0 && largest < r.config.MaxBatchSize {
		r.add(ruleLargestPreferred, "dynamic_batching.preferred_batch_size", fmt.Sprintf(
			"no batch is larger than %d, the largest preferred size, although max_batch_size is %d", largest, r.config.MaxBatchSize),
			fmt.Sprintf("add %d, or lower max_batch_size", r.config.MaxBatchSize))
	}
}

// lengths reports inputs whose variable dimension keeps requests out of one batch.
func (r *run) lengths() {
	if r.config.GetDynamicBatching() == nil || r.config.MaxBatchSize < 2 || r.config.Parameters["length_buckets"] != nil {
		return
	}
	for i, in := range r.config.Input {
		if in.AllowRaggedBatch || !slices.Contains(in.Dims, -1) || in.DataType == pb.DataType_TYPE_STRING {
			continue
		}
		r.add(ruleLengths, fmt.Sprintf("input[%d].dims", i), fmt.Sprintf("requests whose sizes of input '%s' differ never share a batch", in.Name),
			"pad in the client, set the parameter length_buckets, or allow_ragged_batch if the model reads ragged batches")
		return
	}
}

// slowStarts are the backends whose first request on a GPU is much slower than the others.
var slowStarts = []string{"onnxruntime", "tensorrt", "tensorflow", "pytorch"}

func (r *run) noWarmup() {
	onGPU := func(g *pb.ModelInstanceGroup) bool { return g.Kind == pb.ModelInstanceGroup_KIND_GPU }
	if len(r.config.ModelWarmup) > 0 || !slices.Contains(slowStarts, r.config.Backend) || !slices.ContainsFunc(r.config.InstanceGroup, onGPU) {
		return
	}
	r.add(ruleNoWarmup, "model_warmup", "the first request of each instance on a GPU waits for what the engine prepares", "add model_warmup")
}

// warmupInputs reports inputs of warm-up samples that the model does not have. The server passes them on, and
// the model ignores them.
func (r *run) warmupInputs() {
	known := modelconfig.RequestInputs(r.config)
	if len(r.config.Input) == 0 {
		return // the model file may describe them
	}
	for i, w := range r.config.ModelWarmup {
		for _, name := range modelconfig.UnknownWarmupInputs(r.config, w) {
			if r.graph != nil {
				if _, ok := r.graph.Input(name); ok {
					continue
				}
			}
			r.add(ruleWarmupInput, fmt.Sprintf("model_warmup[%d].inputs[%q]", i, name), fmt.Sprintf(
				"the warm-up sample '%s' has an input '%s', which is no input of the model", w.Name, name),
				spelling.Hint(name, known, "remove it, or name one of "+strings.Join(known, ", ")))
		}
	}
}

// customFamilies are the metric families whose buckets a model may set.
var customFamilies = []string{"nv_inference_first_response_histogram_ms"}

func (r *run) metricFamilies() {
	for i, m := range r.config.GetModelMetrics().GetMetricControl() {
		if family := m.GetMetricIdentifier().GetFamily(); family != "" && !slices.Contains(customFamilies, family) {
			r.add(ruleFamily, fmt.Sprintf("model_metrics.metric_control[%d].metric_identifier.family", i), fmt.Sprintf(
				"Metric family '%s' in 'metric_identifier' is not a customizable metric in Triton core.", family),
				"write "+customFamilies[0])
		}
	}
}

// libraries reports libraries of custom operations that are not on this machine. Names without a
// slash are found by the dynamic linker.
func (r *run) libraries() {
	for i, name := range r.config.GetModelOperations().GetOpLibraryFilename() {
		if !strings.Contains(name, "/") {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			r.add(ruleLibrary, fmt.Sprintf("model_operations.op_library_filename[%d]", i), fmt.Sprintf("the library %s is not on this machine", name),
				"put it there; a relative path counts from the working directory of the server")
		}
	}
}

// emptyFile reports model files without content, for backends whose files are not read here.
func (r *run) emptyFile(path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		r.addFile(ruleEmptyFile, path, "the model file is empty", "copy it again")
	}
}
