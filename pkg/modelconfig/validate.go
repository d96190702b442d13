package modelconfig

import (
	"fmt"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/status"
)

// Validate checks everything except inputs, outputs and instance groups, on a
// normalized configuration. The findings are in the order of Triton's checks, so the
// first one is what Triton reports.
func (c *Config) Validate() []Finding {
	v := validator{Config: c}
	v.identity()
	v.dynamicBatching(c.GetDynamicBatching())
	v.sequenceBatching(c.GetSequenceBatching())
	v.ensemble()
	if c.Decoupled() && c.GetResponseCache().GetEnable() {
		v.add(ruleCache, "response_cache", "remove response_cache or decoupled",
			"Response Cache does not currently support model %s with 'decoupled' transaction policy. Please disable the response cache.", c.Name)
	}
	v.metrics()
	v.files()
	return v.found
}

// ValidateIncomplete is Validate for a configuration that its backend completes before Validate
// checks it again: preferred batch sizes wait for the max_batch_size that the backend fills in.
func (c *Config) ValidateIncomplete() []Finding {
	found := c.Validate()
	if c.MaxBatchSize != 0 || len(c.Input) > 0 && len(c.Output) > 0 {
		return found
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Rule == rulePreferred })
}

// ValidateIO checks inputs, outputs and batch tensors, on a configuration that has been
// completed if auto-completion is on.
func (c *Config) ValidateIO() []Finding {
	v := validator{Config: c}
	v.inputs()
	v.outputs()
	v.batchTensors()
	return v.found
}

type validator struct {
	*Config
	found []Finding
}

// add reports a mistake at a field.
func (v *validator) add(rule, path, hint, format string, args ...any) {
	v.addCode(rule, status.InvalidArg, path, hint, format, args...)
}

func (v *validator) addCode(rule string, code status.Code, path, hint, format string, args ...any) {
	v.found = append(v.found, Finding{
		Rule: rule,
		Code: code,
		Path: path,
		Pos:  v.Position(path),
		Msg:  fmt.Sprintf(format, args...),
		Hint: hint,
	})
}

const ensemblePlatform = "ensemble"

// platformFamily maps the name of a platform to its backend.
var platformFamily = map[string]string{
	"tensorflow_graphdef":   "tensorflow",
	"tensorflow_savedmodel": "tensorflow",
	"tensorrt_plan":         "tensorrt",
	"onnxruntime_onnx":      "onnxruntime",
	"pytorch_libtorch":      "pytorch",
	"torch_aoti":            "pytorch",
}

// platformOf returns a platform of a backend.
func platformOf(backend string) string {
	var all []string
	for platform, b := range platformFamily {
		if b == backend {
			all = append(all, platform)
		}
	}
	return slices.Max(all)
}

func (v *validator) identity() {
	if v.Name == "" {
		v.add(ruleName, "name", "write the directory's name", "model configuration must specify 'name'")
	}
	switch {
	case v.Backend == "" && v.Platform != ensemblePlatform:
		hint := `write the backend's name, such as backend: "onnxruntime"`
		if v.Platform == "python" || v.Platform == "openvino" {
			hint = fmt.Sprintf("write backend: %q instead: it is not a platform", v.Platform)
		}
		v.add(ruleBackend, "platform", hint,
			"unexpected platform type '%s' for %s", v.Platform, v.Name)
	case v.Backend != "" && v.Platform == ensemblePlatform:
		v.add(ruleEnsemblePair, "backend", "remove backend, or remove platform if the model is not an ensemble",
			"Ensemble model '%s' must have platform type 'ensemble' and empty backend type", v.Name)
	}
	switch v.Backend {
	case "tensorflow", "tensorrt", "onnxruntime", "pytorch":
		if v.Platform != ensemblePlatform && platformFamily[v.Platform] != v.Backend {
			path, hint := "platform", "remove platform: backend is enough"
			if v.Platform == "" {
				path, hint = "backend", fmt.Sprintf("put the model file into the version directory, or write platform: %q", platformOf(v.Backend))
			}
			v.add(rulePlatform, path, hint,
				"unexpected 'platform' and 'backend' pair, got:%s, %s", v.Platform, v.Backend)
		}
	}
	if v.MaxBatchSize < 0 {
		v.add(ruleMaxBatch, "max_batch_size", "write 0 for a model that does not batch",
			"'max_batch_size' must be non-negative value for %s", v.Name)
	}
	if v.GetVersionPolicy().GetPolicyChoice() == nil {
		v.add(ruleName, "version_policy", "", "must specify 'version policy' for %s", v.Name)
	}
}

func (v *validator) dynamicBatching(d *pb.ModelDynamicBatching) {
	if d == nil {
		return
	}
	const path = "dynamic_batching"
	v.preferred(path, "dynamic batching preferred size", d.PreferredBatchSize)
	if n := d.PriorityLevels; n != 0 {
		if d.DefaultPriorityLevel == 0 || d.DefaultPriorityLevel > n {
			v.add(rulePriority, path+".default_priority_level", "write the level of requests without a priority",
				"default priority level must be in range [1, %d] for %s", n, v.Name)
		}
		for _, level := range sortedLevels(d.PriorityQueuePolicy) {
			if level == 0 || level > n {
				v.add(rulePriority, levelPath(level), "levels count from 1 to priority_levels",
					"priority queue policy must have priority level in range [1, %d] for %s", n, v.Name)
			}
		}
	}
	if d.PreserveOrdering {
		v.ordering(d)
	}
}

// preferred checks a list of preferred batch sizes; what is its name in messages.
func (v *validator) preferred(path, what string, sizes []int32) {
	for i, size := range sizes {
		at := fmt.Sprintf("%s.preferred_batch_size[%d]", path, i)
		switch {
		case size <= 0:
			v.add(rulePreferred, at, "remove it", "%s must be positive for %s", what, v.Name)
		case size > v.MaxBatchSize:
			hint := fmt.Sprintf("lower it or raise max_batch_size (now %d)", v.MaxBatchSize)
			if v.MaxBatchSize == 0 {
				hint = "set max_batch_size: without it the model does not batch"
			}
			v.add(rulePreferred, at, hint, "%s must be <= max batch size for %s", what, v.Name)
		}
	}
}

func (v *validator) ordering(d *pb.ModelDynamicBatching) {
	if d.PriorityLevels > 1 {
		v.add(ruleOrdering, "dynamic_batching.priority_levels", "remove preserve_ordering or the levels",
			"Only one priority level is allowed when 'preserve_ordering' is true for %s", v.Name)
	}
	delays := func(path string, p *pb.ModelQueuePolicy) {
		if p.GetTimeoutAction() == pb.ModelQueuePolicy_DELAY && p.GetDefaultTimeoutMicroseconds() != 0 {
			v.add(ruleOrdering, path+".timeout_action", "use REJECT or remove preserve_ordering",
				"Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for %s", v.Name)
		}
	}
	delays("dynamic_batching.default_queue_policy", d.DefaultQueuePolicy)
	for _, level := range sortedLevels(d.PriorityQueuePolicy) {
		delays(levelPath(level), d.PriorityQueuePolicy[level])
	}
}

func (v *validator) metrics() {
	for i, m := range v.GetModelMetrics().GetMetricControl() {
		path := fmt.Sprintf("model_metrics.metric_control[%d]", i)
		switch id, h := m.GetMetricIdentifier(), m.GetHistogramOptions(); {
		case id == nil:
			v.add(ruleMetrics, path, "name the metric", "metric control must specify 'metric_identifier'")
		case id.Family == "":
			v.add(ruleMetrics, path+".metric_identifier", "name the metric", "metric identifier must specify non-empty 'family'")
		case h == nil:
			v.add(ruleMetrics, path, "add histogram_options", "metric control must specify 'histogram_options'")
		case len(h.Buckets) == 0:
			v.add(ruleMetrics, path+".histogram_options", "list the upper bounds",
				"histogram options must specify non-empty 'buckets'")
		}
	}
}
