package modelconfig

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// files checks the names of files in a configuration. It is this server's check: Triton follows "..". The names of label
// files, warm-up data and initial states are checked with the files, by ValidateLabels, ValidateWarmup and ValidateStates;
// those of parameters that have other meanings too by the readers of these parameters.
func (v *validator) files() {
	v.ownFile("default_model_filename", v.DefaultModelFilename)
	for _, capability := range slices.Sorted(maps.Keys(v.CcModelFilenames)) {
		v.ownFile(fmt.Sprintf("cc_model_filenames[%q]", capability), v.CcModelFilenames[capability])
	}
	for i, name := range v.GetModelOperations().GetOpLibraryFilename() {
		v.sharedFile(fmt.Sprintf("model_operations.op_library_filename[%d]", i), name)
	}
	for _, key := range sharedParameters {
		v.sharedFile(fmt.Sprintf("parameters[%q]", key), v.GetParameters()[key].GetStringValue())
	}
	accelerators := v.GetOptimization().GetExecutionAccelerators()
	for i, a := range accelerators.GetGpuExecutionAccelerator() {
		v.acceleratorFiles(fmt.Sprintf("optimization.execution_accelerators.gpu_execution_accelerator[%d]", i), a.GetParameters())
	}
	for i, a := range accelerators.GetCpuExecutionAccelerator() {
		v.acceleratorFiles(fmt.Sprintf("optimization.execution_accelerators.cpu_execution_accelerator[%d]", i), a.GetParameters())
	}
}

// Files and folders that models share: they may lie outside of the repository, where Triton's users
// have them.
var (
	sharedParameters = []string{
		executionEnvironment, "onnxruntime_library", "session.model_external_initializers_file_folder_path",
	}
	acceleratorParameters = []string{
		"cache_dir", "int8_calibration_table_name", "load_config", "trt_engine_cache_path", "trt_ep_context_file_path",
		"trt_extra_plugin_lib_paths", "trt_timing_cache_path",
	}
)

const (
	executionEnvironment = "EXECUTION_ENV_PATH"
	// modelDirectory stands for the model's folder in the path of an execution environment.
	modelDirectory = "$$TRITON_MODEL_DIRECTORY"
)

func (v *validator) acceleratorFiles(path string, parameters map[string]string) {
	for _, key := range acceleratorParameters {
		// A list of libraries is separated by semicolons, a load_config may be JSON itself.
		for name := range strings.SplitSeq(parameters[key], ";") {
			v.sharedFile(fmt.Sprintf("%s.parameters[%q]", path, key), name)
		}
	}
}

// ownFile checks the name of a file in the version's folder.
func (v *validator) ownFile(path, name string) {
	if name != "" && !LocalName(name) {
		v.add(ruleFileName, path, "put the file, or a link to it, into the version directory and write its name",
			"%s '%s' of model '%s' is outside of the version directory", path, name, v.Name)
	}
}

// sharedFile checks the path of a file that models share.
func (v *validator) sharedFile(path, name string) {
	if name != "" && !SharedPath(name) {
		v.add(ruleFileName, path, "write the path without \"..\": an absolute path, or one in the folder of the model",
			"%s '%s' of model '%s' leads out of its folder with '..'", path, name, v.Name)
	}
}

// SharedPath reports whether a path in a configuration may be that of a file which models share: no
// element is "..". From the model's folder, $$TRITON_MODEL_DIRECTORY, one leads to the repository:
// an archive there is the environment of several models.
func SharedPath(name string) bool {
	name = filepath.ToSlash(name)
	if rest, ok := strings.CutPrefix(name, modelDirectory+"/"); ok {
		name = strings.TrimPrefix(rest, "../")
	}
	return !slices.Contains(strings.Split(name, "/"), "..")
}
