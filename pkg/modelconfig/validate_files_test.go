package modelconfig_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/modelconfig/requirement"
)

// field is a field of a configuration that names a file.
type field struct {
	text     string // %s is the name
	folder   string // of the file, in the model's
	reads    bool   // callers can get the content
	shared   bool   // models share the file: it may lie outside of the repository
	findings func(c *modelconfig.Config, dir string) []modelconfig.Finding
}

// fields are all of them, by the field of the protobuf message or the key of the parameter.
var fields = map[string]field{
	"default_model_filename": {`default_model_filename: "%s"`, "1", false, false, names},
	"cc_model_filenames":     {`cc_model_filenames { key: "8.0" value: "%s" }`, "1", false, false, names},
	"label_filename":         {`output { name: "A" label_filename: "%s" }`, ".", true, false, modelconfig.ValidateLabels},
	"input_data_file": {`input { name: "X" data_type: TYPE_UINT8 dims: [ 1 ] }
		model_warmup { name: "w" batch_size: 1 inputs { key: "X" value { data_type: TYPE_UINT8 dims: [ 1 ] input_data_file: "%s" } } }`, "warmup", true, false, modelconfig.ValidateWarmup},
	"data_file": {`sequence_batching { state { input_name: "S" output_name: "T" data_type: TYPE_UINT8 dims: [ 1 ]
		initial_state { name: "i" data_type: TYPE_UINT8 dims: [ 1 ] data_file: "%s" } } }`, "initial_state", true, false, modelconfig.ValidateStates},
	"op_library_filename": {`model_operations { op_library_filename: "%s" }`, "1", false, true, names},

	"EXECUTION_ENV_PATH":  {parameter("EXECUTION_ENV_PATH"), ".", false, true, names},
	"onnxruntime_library": {parameter("onnxruntime_library"), "1", false, true, names},
	"session.model_external_initializers_file_folder_path": {parameter("session.model_external_initializers_file_folder_path"), "1", false, true, names},
	"python_requirements": {parameter("python_requirements"), ".", false, false, func(c *modelconfig.Config, _ string) []modelconfig.Finding {
		_, found := extension.Read(c)
		return found
	}},
	"vocabulary": {`input { name: "T" data_type: TYPE_STRING dims: [ 1 ] } output { name: "I" data_type: TYPE_INT64 dims: [ -1 ] } ` + parameter("vocabulary"), "1", false, false, func(c *modelconfig.Config, _ string) (found []modelconfig.Finding) {
		for _, f := range requirement.Check("tokenizer", c) {
			if strings.Contains(f.Path, "vocabulary") {
				found = append(found, f)
			}
		}
		return found
	}},
	"MD5": {
		`model_repository_agents { agents { name: "checksum" parameters { key: "MD5:%s" value: "9dd4e461268c8034f5c8564e155c67a6" } } }`, ".", false, false,
		func(c *modelconfig.Config, dir string) []modelconfig.Finding {
			return modelconfig.RunAgents(c, os.DirFS(dir))
		},
	},

	"cache_dir":                   {accelerator("cpu", "openvino", "cache_dir"), ".", false, true, names},
	"load_config":                 {accelerator("cpu", "openvino", "load_config"), ".", false, true, names},
	"int8_calibration_table_name": {accelerator("gpu", "tensorrt", "int8_calibration_table_name"), ".", false, true, names},
	"trt_engine_cache_path":       {accelerator("gpu", "tensorrt", "trt_engine_cache_path"), ".", false, true, names},
	"trt_ep_context_file_path":    {accelerator("gpu", "tensorrt", "trt_ep_context_file_path"), ".", false, true, names},
	"trt_extra_plugin_lib_paths":  {accelerator("gpu", "tensorrt", "trt_extra_plugin_lib_paths"), ".", false, true, names},
	"trt_timing_cache_path":       {accelerator("gpu", "tensorrt", "trt_timing_cache_path"), ".", false, true, names},
}

func parameter(key string) string {
	return `parameters { key: "` + key + `" value { string_value: "%s" } }`
}

func accelerator(side, name, key string) string {
	return "optimization { execution_accelerators { " + side + `_execution_accelerator { name: "` + name + `" parameters { key: "` + key + `" value: "%s" } } } }`
}

func names(c *modelconfig.Config, _ string) (found []modelconfig.Finding) {
	for _, f := range c.Validate() {
		if f.Rule == "TRN522" {
			found = append(found, f)
		}
	}
	return found
}

// TestAllFieldsOfFiles: a new field that names a file has its row in fields.
func TestAllFieldsOfFiles(t *testing.T) {
	t.Parallel()
	isFile := regexp.MustCompile("(^|_)(files?|filenames?|paths?|folder|dir)(_|$)|table_name$|load_config$")
	seen := map[protoreflect.FullName]bool{}
	var visit func(m protoreflect.MessageDescriptor)
	visit = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if isFile.MatchString(string(f.Name())) && f.Kind() != protoreflect.BoolKind {
				require.Contains(t, fields, string(f.Name()))
			}
			if f.Message() != nil {
				visit(f.Message())
			}
		}
	}
	visit((&inferencepb.ModelConfig{}).ProtoReflect().Descriptor())
}

// TestNamesOfFiles: no name leads out of its folder. What callers can read is not behind a link that
// leads out of the repository; links inside, such as those of Kubernetes, are followed. Files that
// models share may have absolute paths.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for name, f := range fields {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			dir := filepath.Join(outer, "repository", "m")
			folder := filepath.Join(dir, f.folder)
			secret := filepath.Join(outer, "secret")
			require.NoError(t, os.MkdirAll(filepath.Join(folder, "..2026"), 0o755))
			for _, path := range []string{secret, filepath.Join(folder, "..2026", "file"), filepath.Join(folder, "file"), filepath.Join(outer, "repository", "shared")} {
				require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			}
			require.NoError(t, os.Symlink("..2026", filepath.Join(folder, "..data")))
			require.NoError(t, os.Symlink("..data/file", filepath.Join(folder, "mounted")))
			require.NoError(t, os.Symlink(secret, filepath.Join(folder, "away")))
			require.NoError(t, os.Symlink(outer, filepath.Join(folder, "up")))
			for value, bad := range map[string]bool{
				"file": false, "mounted": false, "..data/file": false,
				"away": f.reads, "up/secret": f.reads,
				"../../secret": true, "no/../file": true, "..": true, secret: !f.shared, "/etc/passwd": !f.shared,
				"/opt/../etc/passwd": true,
			} {
				c := parse(t, strings.ReplaceAll(f.text, "%s", value))
				require.Equal(t, bad, len(f.findings(c, dir)) > 0, value)
			}
		})
	}
}

// TestExecutionEnvironments: models of one repository may share an archive in it.
func TestExecutionEnvironments(t *testing.T) {
	t.Parallel()
	for path, good := range map[string]bool{
		"$$TRITON_MODEL_DIRECTORY/env.tar.gz": true, "$$TRITON_MODEL_DIRECTORY/../shared.tar.gz": true, "/opt/envs/env": true,
		"$$TRITON_MODEL_DIRECTORY/../../env": false, "$$TRITON_MODEL_DIRECTORY/../x/../../env": false, "$$TRITON_MODEL_DIRECTORY/..": false,
	} {
		require.Equal(t, good, modelconfig.SharedPath(path), path)
	}
}

// A configuration is a file of its repository.
func TestConfigurationBehindLinks(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	dir := filepath.Join(outer, "repository", "m")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, path := range []string{filepath.Join(outer, "secret"), filepath.Join(outer, "repository", "shared")} {
		require.NoError(t, os.WriteFile(path, []byte(`backend: "identity"`), 0o600))
	}
	require.NoError(t, os.Symlink("../shared", filepath.Join(dir, "inside")))
	require.NoError(t, os.Symlink("../../secret", filepath.Join(dir, "away")))
	_, err := modelconfig.ReadFile(filepath.Join(dir, "inside"))
	require.NoError(t, err)
	_, err = modelconfig.ReadFile(filepath.Join(dir, "away"))
	require.ErrorContains(t, err, "is outside of the model repository, or a link that leads there")
}
