package scaffold_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
	"triton/repo/lint"
	"triton/repo/scaffold"
)

func TestTrees(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct {
		modelType, placed string
		outputs           string
		classifier        bool
	}{
		"xgboost_binary.ubj":      {"xgboost_ubj", "xgboost.ubj", "dims: [ 2 ]", true},
		"xgboost_classes.ubj":     {"xgboost_ubj", "xgboost.ubj", "dims: [ 3 ]", true},
		"xgboost_classes.json":    {"xgboost_json", "xgboost.json", "dims: [ 3 ]", true},
		"xgboost_regression.json": {"xgboost_json", "xgboost.json", "dims: [ 1 ]", false},
		"lightgbm_binary.txt":     {"lightgbm", "model.txt", "dims: [ 2 ]", true},
	} {
		out := t.TempDir()
		res, err := scaffold.Write(filepath.Join("testdata", file), scaffold.Options{Output: out, Name: "trees", DefaultMaxBatch: 4})
		require.NoError(t, err, file)
		require.Equal(t, filepath.Join(out, "trees/1", want.placed), res.Files[0])
		text := read(t, filepath.Join(out, "trees/config.pbtxt"))
		require.Contains(t, text, `backend: "fil"`)
		require.Contains(t, text, `string_value: "`+want.modelType+`"`)
		require.Contains(t, text, "dims: [ 5 ]", "features")
		require.Contains(t, text, want.outputs)
		require.Equal(t, want.classifier, strings.Contains(text, "is_classifier"), file)
		require.Equal(t, want.classifier, len(res.Notes) == 1, "what the output means")
		models, err := repo.Open(out)
		require.NoError(t, err)
		require.Empty(t, lint.Check(models, lint.Options{DefaultMaxBatch: 4, CPUs: 1}))
	}
}

func TestEstimator(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "churn.joblib")
	require.NoError(t, os.WriteFile(file, []byte("cos\nsystem\n(S'false'\ntR."), 0o600))
	out := t.TempDir()
	res, err := scaffold.Write(file, scaffold.Options{Output: out, DefaultMaxBatch: 4})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(out, "churn/1/model.joblib"), res.Files[0])
	require.Contains(t, res.Notes[0], "the server completes the inputs and outputs")
	require.Contains(t, read(t, filepath.Join(out, "churn/config.pbtxt")), `backend: "sklearn"`)
}

func TestTreesRefused(t *testing.T) {
	t.Parallel()
	whole := read(t, "testdata/xgboost_binary.ubj")
	long := "{L" + string(binary.BigEndian.AppendUint64(nil, 1<<40)) + "x"
	for text, want := range map[string]string{
		whole[:2000]: "the file is not a model of XGBoost: unexpected EOF",
		long:         "it is not UBJSON: a text of 1099511627776 bytes",
		"{L\x00\x00\x00\x00\x00\x00\x00\x01a" + strings.Repeat("[", 100): "values are nested deeper than 64",
		"{L\x00\x00\x00\x00\x00\x00\x00\x01ax":                           "unknown marker 0x78",
		`{"learner":{"learner_model_param":{"num_feature":"x"}}}`:        `learner.learner_model_param.num_feature is "x"`,
		`{"learner":{}}`:                               `learner.learner_model_param.num_feature is ""`,
		`{"learner":`:                                  "the file is not a model of XGBoost: unexpected EOF",
		"tree\nversion=v4\nnum_class=1\n\n":            "its header has no max_feature_idx",
		"tree\nmax_feature_idx=many\n":                 `max_feature_idx is "many", not a number`,
		"tree\nmax_feature_idx=-2\n":                   "its header has no max_feature_idx",
		"tree\r\nmax_feature_idx=4\r\nnum_class=x\r\n": `num_class is "x", not a number`,
	} {
		file := filepath.Join(t.TempDir(), "trees")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := scaffold.Read(file, scaffold.Options{})
		require.ErrorContains(t, err, want)
	}
}
