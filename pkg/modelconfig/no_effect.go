package modelconfig

import (
	"fmt"

	pb "triton/pkg/inferencepb"
)

// NoEffect returns the fields that are set and that this server does not read for a
// model of this kind, with the reason. They are not mistakes: the model loads. Models
// of TensorRT, which use more fields, are left out.
func (c *Config) NoEffect() []Finding {
	v := validator{Config: c}
	switch {
	case c.GetEnsembleScheduling() != nil:
		v.noEffectOnEnsemble()
		return v.found
	case c.Backend == "tensorrt" || c.Platform == tensorrtPlatform:
		return nil
	}
	for i, g := range c.InstanceGroup {
		path := fmt.Sprintf("instance_group[%d].", i)
		v.unread(path+"secondary_devices", len(g.SecondaryDevices) > 0, onlyTensorRT)
	}
	v.noEffectOptimization(c.GetOptimization())
	return v.found
}

const onlyTensorRT = "only TensorRT models use it"

func (v *validator) noEffectOptimization(o *pb.ModelOptimizationPolicy) {
	v.unread("optimization.priority", o.GetPriority() != pb.ModelOptimizationPolicy_PRIORITY_DEFAULT, onlyTensorRT)
	v.unread("optimization.cuda", o.GetCuda() != nil, onlyTensorRT)
	v.unread("optimization.gather_kernel_buffer_threshold", o.GetGatherKernelBufferThreshold() != 0,
		"inputs are gathered in memory of the host")
	v.unread("optimization.eager_batching", o.GetEagerBatching(), onlyTensorRT)
}

// noEffectOnEnsemble reports fields that composing models use and ensembles do not. NVIDIA's
// server, too, accepts these fields without reading them.
func (v *validator) noEffectOnEnsemble() {
	const steps = "an ensemble has no backend; set it for the composing models"
	for i, in := range v.Input {
		v.unread(fmt.Sprintf("input[%d].allow_ragged_batch", i), in.AllowRaggedBatch, "an ensemble does not batch; set it for the composing models")
	}
	v.unread("default_model_filename", v.DefaultModelFilename != "", steps)
	v.unread("cc_model_filenames", len(v.CcModelFilenames) > 0, steps)
	v.unread("model_operations", v.ModelOperations != nil, steps)
	v.unread("model_transaction_policy", v.ModelTransactionPolicy.GetDecoupled(), "an ensemble is decoupled if a composing model is")
	v.unread("batch_input", len(v.BatchInput) > 0, steps)
	v.unread("batch_output", len(v.BatchOutput) > 0, steps)
	v.unread("runtime", v.Runtime != "", steps)
	for i, s := range v.GetEnsembleScheduling().GetStep() {
		v.unread(fmt.Sprintf("ensemble_scheduling.step[%d].model_namespace", i), s.ModelNamespace != "", "the server finds the namespace of the model")
	}
}

// unread reports a field that is set and has no effect. Where the text is known, a field that is not in
// it was added by the search for the backend, and is not the author's: it is not reported.
func (v *validator) unread(path string, set bool, why string) {
	if set && (v.pos == nil || v.Has(path)) {
		v.add(ruleNoEffect, path, "remove it", "%s has no effect: %s", path, why)
	}
}
