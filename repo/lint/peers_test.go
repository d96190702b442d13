package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
	"triton/repo/lint"
	"triton/repo/lint/linttest"
)

const (
	identity = `backend: "identity" input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] }`
	pipe     = `platform: "ensemble" input { name: "IN" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] }
ensemble_scheduling { step { model_name: "det_pre" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } }`
)

// found lints the models of several paths in one call, and returns rules and models.
func found(t *testing.T, o lint.Options, paths ...string) []string {
	t.Helper()
	var all []repo.Model
	for _, path := range paths {
		models, err := repo.Open(path)
		require.NoError(t, err)
		all = append(all, models...)
	}
	var list []string
	for _, f := range lint.Check(all, o) {
		list = append(list, f.Rule+" "+f.Model)
	}
	return list
}

// An ensemble is compared with the models beside it, also when it is linted alone.
func TestSiblings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := linttest.Files{"pipe/config.pbtxt": pipe, "pipe/1/": ""}
	require.NoError(t, files.Write(dir))
	require.Equal(t, []string{"TRN710 pipe"}, found(t, lint.Options{}, dir), "the only model of the repository")
	require.Equal(t, []string{"TRN710 pipe"}, found(t, lint.Options{}, filepath.Join(dir, "pipe")))

	require.NoError(t, linttest.Files{"det_pre/config.pbtxt": identity, "det_pre/1/": ""}.Write(dir))
	require.Empty(t, found(t, lint.Options{}, dir))
	require.Empty(t, found(t, lint.Options{}, filepath.Join(dir, "pipe")))

	require.NoError(t, linttest.Files{"det_pre/config.pbtxt": identity + " max_batch_size: -1"}.Write(dir))
	require.Equal(t, []string{"TRN713 pipe"}, found(t, lint.Options{}, filepath.Join(dir, "pipe")), "findings are about the model that was asked for")
}

// Models of the same name in two repositories are two models, and an ensemble may use the models of
// another repository of the call.
func TestTwoRepositories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	require.NoError(t, linttest.Files{
		"det_pre/config.pbtxt": `backend: "identity" input { name: "INPUT1" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 1 ] }`,
		"det_pre/1/":           "",
	}.Write(one))
	require.NoError(t, linttest.Files{"det_pre/config.pbtxt": identity, "det_pre/1/": "", "pipe/config.pbtxt": pipe, "pipe/1/": ""}.Write(two))
	require.Empty(t, found(t, lint.Options{}, one, two))
	require.Empty(t, found(t, lint.Options{}, two, one))

	require.NoError(t, os.RemoveAll(filepath.Join(two, "det_pre")))
	require.Equal(t, []string{"TRN704 pipe", "TRN704 pipe", "TRN704 pipe"}, found(t, lint.Options{}, one, two))
}

// A name is only suggested for another spelling of itself.
func TestMissingModel(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]string{
		"det_post": "add the model to the repository", "det_pre2": "add the model to the repository", "rec_pre": "add the model to the repository",
		"det-pre": `did you mean "det-pre"?`, "Det_Pre": `did you mean "Det_Pre"?`, "det_rpe": `did you mean "det_rpe"?`, "dt_pre": `did you mean "dt_pre"?`,
	} {
		dir := t.TempDir()
		require.NoError(t, linttest.Files{"pipe/config.pbtxt": pipe, "pipe/1/": "", other + "/config.pbtxt": identity, other + "/1/": ""}.Write(dir))
		models, err := repo.Open(dir)
		require.NoError(t, err)
		findings := lint.Check(models, lint.Options{})
		require.Len(t, findings, 1, other)
		require.Equal(t, want, findings[0].Hint, other)
	}
}

// TestSilent has configurations that were reported without reason.
func TestSilent(t *testing.T) {
	t.Parallel()
	python := `backend: "python" input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }`
	for name, files := range map[string]linttest.Files{
		"a Python model with several instances": {"m/config.pbtxt": python + ` instance_group { count: 4 kind: KIND_CPU }`, "m/1/model.py": ""},
		"a queue policy without batches":        {"m/config.pbtxt": python + ` dynamic_batching { default_queue_policy { max_queue_size: 4 } }`, "m/1/model.py": ""},
		"folders of helpers":                    {"m/config.pbtxt": python, "m/1/model.py": "", "m/utils/x.py": "", "m/__pycache__/x": "", "m/tokenizer/vocab.txt": ""},
	} {
		dir := t.TempDir()
		require.NoError(t, files.Write(dir))
		models, err := repo.Open(dir)
		require.NoError(t, err)
		for _, f := range lint.Check(models, lint.Options{CPUs: 2}) {
			require.Equal(t, repo.Note, f.Severity, "%s: %v", name, f)
		}
	}
}

// A mistake is reported once, with what corrects it.
func TestHints(t *testing.T) {
	t.Parallel()
	for config, want := range map[string][2]string{
		`platform: "python"`: {"unexpected platform type 'python' for m", `write backend: "python" instead: it is not a platform`},
		"max_batch_size:\ninput [ { name: \"X\" data_type: TYPE_FP32 dims: [ 1 ] } ]": {"Expected integer, got: input", `"max_batch_size" takes a whole number without quotes`},
		`backend: "tensorflow"`: {
			"unexpected 'platform' and 'backend' pair, got:, tensorflow",
			`put the model file into the version directory, or write platform: "tensorflow_savedmodel"`,
		},
	} {
		dir := t.TempDir()
		require.NoError(t, linttest.Files{"m/config.pbtxt": config, "m/1/": ""}.Write(dir))
		models, err := repo.Open(dir)
		require.NoError(t, err)
		var got [][2]string
		for _, f := range lint.Check(models, lint.Options{}) {
			if f.Severity == repo.Error {
				got = append(got, [2]string{f.Msg, f.Hint})
			}
		}
		require.Equal(t, [][2]string{want}, got, config)
	}
}

// A checkout without its weights is linted for the rest.
func TestWithoutWeights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, linttest.Files{
		"a/config.pbtxt": `backend: "onnxruntime" max_batch_size: 4 dynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 1 }`, "a/1/": "",
		"b/config.pbtxt": `input { name: "X" dims: [ 1 ] data_type: TYPE_FP32 } output { name: "Y" dims: [ 0 ] data_type: TYPE_FP32 }`,
	}.Write(dir))
	require.Equal(t, []string{"TRN510 a", "TRN302 a", "TRN501 b", "TRN204 b"}, found(t, lint.Options{}, dir))
	require.Equal(t, []string{"TRN519 ", "TRN302 a", "TRN204 b"}, found(t, lint.Options{NoWeights: true}, dir))
}

// A version may have the library of its backend.
func TestLibraryInVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := strings.Replace(identity, `"identity"`, `"own"`, 1)
	require.NoError(t, linttest.Files{"m/config.pbtxt": own, "m/1/libtriton_own.so": "x", "m/2/": ""}.Write(dir))
	require.Contains(t, found(t, lint.Options{}, dir), "TRN108 m", "version 2 is served, and version 1 is not")
	own += " version_policy { all {} }"
	require.NoError(t, linttest.Files{"m/config.pbtxt": own}.Write(dir))
	require.Equal(t, []string{"TRN108 m"}, found(t, lint.Options{}, dir))
	require.NoError(t, linttest.Files{"m/2/libtriton_own.so": "x"}.Write(dir))
	require.Empty(t, found(t, lint.Options{}, dir))
}
