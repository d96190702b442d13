package modelconfig

// Rule is one kind of mistake, with an id that does not change.
type Rule struct {
	ID  string
	Doc string // one line
}

// The rules that RunAgents and the functions whose names begin with Validate report.
const (
	ruleName              = "TRN101"
	ruleBackend           = "TRN103"
	rulePlatform          = "TRN104"
	ruleEnsemblePair      = "TRN105"
	ruleTensorName        = "TRN201"
	ruleDataType          = "TRN202"
	ruleNoDims            = "TRN203"
	ruleDims              = "TRN204"
	ruleReshape           = "TRN205"
	ruleFormat            = "TRN206"
	ruleTensorRTOnly      = "TRN207"
	ruleBatchInput        = "TRN208"
	ruleBatchOutput       = "TRN209"
	ruleMaxBatch          = "TRN301"
	rulePreferred         = "TRN302"
	rulePriority          = "TRN303"
	ruleOrdering          = "TRN304"
	ruleCache             = "TRN305"
	ruleControl           = "TRN306"
	ruleSequence          = "TRN307"
	ruleState             = "TRN309"
	ruleNoGroup           = "TRN401"
	ruleGroupGPUs         = "TRN402"
	ruleGPU               = "TRN403"
	ruleProfile           = "TRN404"
	rulePassive           = "TRN405"
	ruleLabels            = "TRN511"
	ruleWarmup            = "TRN513"
	ruleFileName          = "TRN522"
	ruleEnsemble          = "TRN701"
	ruleEnsembleStep      = "TRN702"
	ruleEnsembleTensor    = "TRN703"
	ruleEnsembleFit       = "TRN704"
	ruleEnsembleTypes     = "TRN705"
	ruleEnsembleDecoupled = "TRN706"
	ruleMetrics           = "TRN801"
	ruleBounds            = "TRN803"
	ruleNoEffect          = "TRN811"
	ruleAgent             = "TRN830"
)

// Rules lists the rules of this package by id.
func Rules() []Rule {
	return []Rule{
		{ruleName, "a model has a name"},
		{ruleBackend, "a model that is not an ensemble has a backend"},
		{rulePlatform, "platform, if it is set, is a platform of the backend"},
		{ruleEnsemblePair, "an ensemble has platform \"ensemble\" and no backend"},
		{ruleTensorName, "every input and output has a name"},
		{ruleDataType, "every input and output has a data_type"},
		{ruleNoDims, "every input and output has dims"},
		{ruleDims, "every dimension is at least 1, or -1 for one that varies"},
		{ruleReshape, "reshape keeps the number of elements"},
		{ruleFormat, "FORMAT_NHWC and FORMAT_NCHW are for three dims"},
		{ruleTensorRTOnly, "shape tensors and non-linear formats are for TensorRT"},
		{ruleBatchInput, "a batch_input has one known source and type TYPE_INT32 or TYPE_FP32"},
		{ruleBatchOutput, "a batch_output has one known source and known targets"},
		{ruleMaxBatch, "max_batch_size is not negative"},
		{rulePreferred, "preferred batch sizes are between 1 and max_batch_size"},
		{rulePriority, "priority levels are between 1 and priority_levels"},
		{ruleOrdering, "preserve_ordering allows one priority level and no delayed requests"},
		{ruleCache, "the response cache is for models with one response and no sequences"},
		{ruleControl, "sequence controls are complete and given once"},
		{ruleSequence, "minimum_slot_utilization is between 0 and 1"},
		{ruleState, "the initial value of a state fits the state"},
		{ruleNoGroup, "a model has an instance group"},
		{ruleGroupGPUs, "only KIND_GPU groups list GPUs"},
		{ruleGPU, "KIND_GPU groups list GPUs that the machine has"},
		{ruleProfile, "profile is for TensorRT"},
		{rulePassive, "some instances take requests"},
		{ruleLabels, "label files exist inside the model's directory"},
		{ruleWarmup, "warm-up samples have the inputs of the model, and their data files"},
		{ruleFileName, "the names of model files do not lead out of the version directory"},
		{ruleEnsemble, "an ensemble has steps and no instances, optimization or warm-up"},
		{ruleEnsembleStep, "every step has model_name, input_map and output_map"},
		{ruleEnsembleTensor, "the tensors of an ensemble are connected"},
		{ruleEnsembleFit, "a step maps inputs and outputs that its model has, and its model allows batches as large as the ensemble's"},
		{ruleEnsembleTypes, "the models that share a tensor of an ensemble agree on its type and shape"},
		{ruleEnsembleDecoupled, "the inputs of a step come from at most one decoupled model"},
		{ruleMetrics, "every metric control has a family and histogram buckets"},
		{ruleBounds, "instances, threads, warm-ups and states are no more than a server allows"},
		{ruleAgent, "the server has the repository agents of a model, and they accept it"},
	}
}

// NoEffectRule returns the rule of NoEffect, whose findings do not stop a load.
func NoEffectRule() Rule { return Rule{ruleNoEffect, "every field that is set has an effect"} }
