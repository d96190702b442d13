package lint

import (
	"slices"
	"sort"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/onnxmodel"
	"triton/repo"
)

// The rules of this package. Ids are grouped by hundreds: 0 reading, 1 identity,
// 2 tensors, 3 batching, 4 instances, 5 versions and files, 6 the ONNX graph,
// 7 ensembles, 8 other settings, 9 Python models.
var (
	ruleSyntax           = repo.Rule{ID: "TRN001", Severity: repo.Error, Doc: "config.pbtxt is protobuf text of a model configuration"}
	ruleUnreadable       = repo.Rule{ID: "TRN002", Severity: repo.Error, Doc: "files can be read"}
	ruleName             = repo.Rule{ID: "TRN102", Severity: repo.Error, Doc: "name is the directory's name"}
	ruleNoBackend        = repo.Rule{ID: "TRN106", Severity: repo.Error, Doc: "the backend is given, or follows from the model file"}
	ruleDuplicate        = repo.Rule{ID: "TRN210", Severity: repo.Warning, Doc: "tensor names are given once"}
	ruleNeverBatches     = repo.Rule{ID: "TRN310", Severity: repo.Warning, Doc: "dynamic_batching needs max_batch_size of at least 2"}
	ruleNoDelay          = repo.Rule{ID: "TRN311", Severity: repo.Note, Doc: "preferred batch sizes have an effect only with max_queue_delay_microseconds"}
	ruleLongDelay        = repo.Rule{ID: "TRN312", Severity: repo.Warning, Doc: "max_queue_delay_microseconds is at most a second"}
	ruleUnusedBatch      = repo.Rule{ID: "TRN313", Severity: repo.Note, Doc: "a model with max_batch_size has a batching scheduler"}
	ruleCouldBatch       = repo.Rule{ID: "TRN314", Severity: repo.Note, Doc: "a graph with a variable first dimension is served in batches"}
	rulePreferredSort    = repo.Rule{ID: "TRN315", Severity: repo.Note, Doc: "preferred batch sizes are listed once, in rising order"}
	ruleNoLevels         = repo.Rule{ID: "TRN316", Severity: repo.Warning, Doc: "priority_queue_policy needs priority_levels"}
	ruleCount            = repo.Rule{ID: "TRN410", Severity: repo.Warning, Doc: "an instance group has a count of at least 1"}
	ruleTooManyThreads   = repo.Rule{ID: "TRN411", Severity: repo.Warning, Doc: "CPU instances and their threads fit the processors"}
	ruleAllGPUs          = repo.Rule{ID: "TRN412", Severity: repo.Note, Doc: "a KIND_GPU group without gpus runs its count on every GPU"}
	ruleAutoGPU          = repo.Rule{ID: "TRN413", Severity: repo.Warning, Doc: "a group that lists gpus has the kind KIND_GPU"}
	ruleNoVersion        = repo.Rule{ID: "TRN501", Severity: repo.Error, Doc: "at least one version directory is served"}
	ruleBadVersion       = repo.Rule{ID: "TRN502", Severity: repo.Warning, Doc: "version directories are named by plain numbers"}
	ruleMissingVersion   = repo.Rule{ID: "TRN503", Severity: repo.Warning, Doc: "the versions that version_policy names exist"}
	ruleModelFile        = repo.Rule{ID: "TRN510", Severity: repo.Error, Doc: "every served version has its model file"}
	ruleLabelCount       = repo.Rule{ID: "TRN512", Severity: repo.Warning, Doc: "a label file has one label per class"}
	ruleExternal         = repo.Rule{ID: "TRN514", Severity: repo.Error, Doc: "the weight files that an ONNX file names exist"}
	ruleGraphFile        = repo.Rule{ID: "TRN610", Severity: repo.Error, Doc: "ONNX files can be read"}
	ruleIncomplete       = repo.Rule{ID: "TRN611", Severity: repo.Error, Doc: "the ONNX graph can complete the configuration"}
	ruleMissingComposing = repo.Rule{ID: "TRN710", Severity: repo.Error, Doc: "the composing models of an ensemble are in its repository"}
	ruleCycle            = repo.Rule{ID: "TRN711", Severity: repo.Error, Doc: "an ensemble is not one of its own composing models"}
	ruleStepVersion      = repo.Rule{ID: "TRN712", Severity: repo.Error, Doc: "the version that a step names is served"}
	ruleUTF8             = repo.Rule{ID: "TRN003", Severity: repo.Warning, Doc: "config.pbtxt is text in UTF-8"}
	ruleWarmupInput      = repo.Rule{ID: "TRN521", Severity: repo.Warning, Doc: "the inputs of warm-up samples are inputs of the model"}
	ruleUnfilled         = repo.Rule{ID: "TRN006", Severity: repo.Warning, Doc: "the placeholders of a template are filled in"}
	ruleLargestPreferred = repo.Rule{ID: "TRN317", Severity: repo.Note, Doc: "the largest preferred batch size is max_batch_size"}
	ruleLengths          = repo.Rule{ID: "TRN318", Severity: repo.Note, Doc: "requests whose inputs differ in size can share a batch"}
	ruleManyInstances    = repo.Rule{ID: "TRN414", Severity: repo.Note, Doc: "a model has no more CPU instances than the machine has processors"}
	ruleUnserved         = repo.Rule{ID: "TRN504", Severity: repo.Note, Doc: "a model with several versions has a version_policy"}
	rulePointer          = repo.Rule{ID: "TRN515", Severity: repo.Error, Doc: "model files are not pointers of Git LFS"}
	ruleMisplaced        = repo.Rule{ID: "TRN516", Severity: repo.Warning, Doc: "config.pbtxt is beside the version directories, the model file in them"}
	ruleEmptyFile        = repo.Rule{ID: "TRN517", Severity: repo.Warning, Doc: "model files are not empty"}
	ruleLibrary          = repo.Rule{ID: "TRN518", Severity: repo.Warning, Doc: "the libraries of custom operations exist"}
	ruleNoWeights        = repo.Rule{ID: "TRN519", Severity: repo.Note, Doc: "the model files are there, unless they are left out on purpose"}
	ruleNoWarmup         = repo.Rule{ID: "TRN520", Severity: repo.Note, Doc: "models on a GPU have warm-up samples"}
	ruleFamily           = repo.Rule{ID: "TRN802", Severity: repo.Warning, Doc: "metric families are those whose buckets a model may set"}
	ruleFrameworkFile    = repo.Rule{ID: "TRN620", Severity: repo.Warning, Doc: "TorchScript, SavedModel and OpenVINO files can be read"}
	ruleFrameworkName    = repo.Rule{ID: "TRN621", Severity: repo.Warning, Doc: "every input and output is one of the TorchScript, SavedModel or OpenVINO model's"}
	ruleFrameworkType    = repo.Rule{ID: "TRN622", Severity: repo.Warning, Doc: "data_type is the element type of the SavedModel or OpenVINO model"}
	ruleFrameworkDims    = repo.Rule{ID: "TRN623", Severity: repo.Warning, Doc: "dims (or reshape) are the shape of the SavedModel or OpenVINO model"}
	ruleStepFails        = repo.Rule{ID: "TRN713", Severity: repo.Error, Doc: "the composing models of an ensemble load"}
	ruleElsewhere        = repo.Rule{ID: "TRN109", Severity: repo.Note, Doc: "this server has the backend, not only NVIDIA's"}
	ruleNoEffect         = repo.Rule{ID: modelconfig.NoEffectRule().ID, Severity: repo.Note, Doc: modelconfig.NoEffectRule().Doc}
	rulePython           = repo.Rule{ID: "TRN901", Severity: repo.Error, Doc: "the file of a Python model is correct Python"}
	rulePythonClass      = repo.Rule{ID: "TRN902", Severity: repo.Error, Doc: "a Python model has a class TritonPythonModel with a method execute"}
	ruleNoTensors        = repo.Rule{ID: "TRN903", Severity: repo.Warning, Doc: "config.pbtxt or auto_complete_config describes the tensors of a Python model"}
	ruleTensorsTwice     = repo.Rule{ID: "TRN904", Severity: repo.Note, Doc: "the tensors of a Python model are described in one place, config.pbtxt or auto_complete_config"}
	rulePythonSkipped    = repo.Rule{ID: "TRN905", Severity: repo.Note, Doc: "a Python interpreter is available to read Python models"}
	ruleParameter        = repo.Rule{ID: "TRN810", Severity: repo.Warning, Doc: "the backend knows the parameters"}
)

// Rules lists every rule by id, those of the shared packages included.
func Rules() []repo.Rule {
	list := []repo.Rule{
		ruleSyntax, ruleUnreadable, ruleName, ruleNoBackend, ruleDuplicate, ruleNeverBatches, ruleNoDelay, ruleLongDelay,
		ruleUnusedBatch, ruleCouldBatch, rulePreferredSort, ruleNoLevels, ruleCount, ruleTooManyThreads, ruleAllGPUs, ruleAutoGPU,
		ruleNoVersion, ruleBadVersion, ruleMissingVersion, ruleModelFile, ruleLabelCount, ruleExternal,
		ruleGraphFile, ruleIncomplete, ruleMissingComposing, ruleCycle, ruleStepVersion, ruleStepFails, ruleFrameworkFile, ruleFrameworkName, ruleFrameworkType, ruleFrameworkDims, ruleElsewhere, ruleUTF8, ruleUnfilled, ruleWarmupInput, ruleLargestPreferred, ruleLengths, ruleManyInstances, ruleUnserved,
		rulePointer, ruleMisplaced, ruleEmptyFile, ruleLibrary, ruleNoWeights, ruleNoWarmup, ruleFamily, ruleNoEffect, ruleParameter,
		rulePython, rulePythonClass, ruleNoTensors, ruleTensorsTwice, rulePythonSkipped, ruleUnused, ruleComment,
	}
	for _, r := range slices.Concat(modelconfig.Rules(), extension.Rules(), requirement.Rules(), onnxmodel.ConfigRules()) {
		list = append(list, repo.Rule{ID: r.ID, Severity: repo.Error, Doc: r.Doc})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}
