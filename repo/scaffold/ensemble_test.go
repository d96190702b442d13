package scaffold_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
	"triton/repo/lint"
	"triton/repo/scaffold"
)

// repository writes models with a configuration each.
func repository(t *testing.T, configs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range configs {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte("backend: \"query\"\n"+text), 0o600))
	}
	return dir
}

const (
	splitter = `max_batch_size: 64 input { name: "raw_text" data_type: TYPE_STRING dims: [ 1 ] } output { name: "tokens" data_type: TYPE_INT64 dims: [ -1 ] }`
	scorer   = `max_batch_size: 16 input { name: "input_ids" data_type: TYPE_INT64 dims: [ 128 ] } output { name: "logits" data_type: TYPE_FP32 dims: [ 10 ] }`
	chooser  = `max_batch_size: 32 input { name: "raw_logits" data_type: TYPE_FP32 dims: [ 10 ] }
input { name: "temperature" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
output { name: "final" data_type: TYPE_FP32 dims: [ 10 ] } output { name: "tokens" data_type: TYPE_INT32 dims: [ 1 ] }`
	whole = `max_batch_size: 0 input { name: "logits" data_type: TYPE_FP32 dims: [ -1, 10 ] } output { name: "sum" data_type: TYPE_FP32 dims: [ 1 ] }`
	other = `input { name: "image" data_type: TYPE_UINT8 dims: [ 3 ] } output { name: "box" data_type: TYPE_FP32 dims: [ 4 ] }`
)

// TestEnsemble connects tensors of different names by their types.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"tokenizer": splitter, "bert": scorer, "postprocessor": chooser})
	o := scaffold.Options{Output: dir, Name: "pipeline", Bare: true}
	m, err := scaffold.ReadEnsemble([]string{"tokenizer", "bert", "postprocessor"}, o)
	require.NoError(t, err)
	require.Equal(t, []string{
		"tokens of tokenizer is the input input_ids of bert, by its type and shape",
		"logits of bert is the input raw_logits of postprocessor, by its type and shape",
	}, m.Notes())
	_, err = m.Write(o)
	require.NoError(t, err)
	text := read(t, filepath.Join(dir, "pipeline/config.pbtxt"))
	require.Contains(t, text, "max_batch_size: 16\n", "the smallest of the steps")
	require.Contains(t, text, "input {\n  name: \"raw_text\"\n")
	require.Contains(t, text, "output {\n  name: \"final\"\n")
	require.Contains(t, text, "output {\n  name: \"postprocessor_tokens\"\n  data_type: TYPE_INT32\n", "the name is taken by another tensor")
	require.Contains(t, text, "input_map {\n      key: \"raw_logits\"\n      value: \"logits\"\n")
	require.NotContains(t, text, "temperature", "it is optional")
	require.DirExists(t, filepath.Join(dir, "pipeline/1"))
	models, err := repo.Open(dir)
	require.NoError(t, err)
	for _, f := range lint.Check(models, lint.Options{}) {
		require.NotEqual(t, "pipeline", f.Model, f.Msg)
	}
	_, err = m.Write(o)
	require.ErrorIs(t, err, os.ErrExist)
}

// TestEnsembleWithoutBatches: a step that does not batch sees the rows of the others as a dimension.
func TestEnsembleWithoutBatches(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"bert": scorer, "sum": whole})
	m, err := scaffold.ReadEnsemble([]string{"bert", "sum"}, scaffold.Options{Output: dir, Name: "e"})
	require.NoError(t, err)
	text := string(m.Text(false))
	require.NotContains(t, text, "max_batch_size")
	require.Contains(t, text, "dims: [ -1, 128 ]")
}

func TestEnsembleOfONNX(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"first": `max_batch_size: 8 input { name: "in" data_type: TYPE_STRING dims: [ 1 ] } output { name: "X" data_type: TYPE_FP32 dims: [ 16 ] }`})
	graph := model(t, "net/1/model.onnx", "batch", 16)
	require.NoError(t, os.Rename(filepath.Dir(filepath.Dir(graph)), filepath.Join(dir, "net")))
	m, err := scaffold.ReadEnsemble([]string{"first", "net"}, scaffold.Options{Output: dir, Name: "e", DefaultMaxBatch: 4})
	require.NoError(t, err)
	require.Contains(t, string(m.Text(false)), "max_batch_size: 4\n")
	require.Equal(t, []string{"X of first is the input X of net, by its name"}, m.Notes())
}

func TestEnsembleRefused(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"tokenizer": splitter, "bert": scorer, "detector": other, "empty": "", "broken": "nosuch: 1"})
	many := 32
	for _, c := range []struct {
		steps []string
		o     scaffold.Options
		want  string
	}{
		{[]string{"tokenizer"}, scaffold.Options{Name: "e"}, "an ensemble is made of at least two models"},
		{[]string{"tokenizer", "bert"}, scaffold.Options{Name: "bert"}, "the ensemble bert cannot be one of its own steps"},
		{[]string{"tokenizer", "bert"}, scaffold.Options{Name: "../e"}, "cannot be a model's name"},
		{[]string{"tokenizer", "nosuch"}, scaffold.Options{Name: "e"}, "has no model nosuch"},
		{[]string{"tokenizer", "empty"}, scaffold.Options{Name: "e"}, "does not say which inputs and outputs the model has"},
		{[]string{"tokenizer", "broken"}, scaffold.Options{Name: "e"}, "nosuch"},
		{[]string{"tokenizer", "detector"}, scaffold.Options{Name: "e"}, "model detector takes no output of the models before it, which are tokens of tokenizer (TYPE_INT64 [-1 -1])"},
		{[]string{"tokenizer", "bert"}, scaffold.Options{Name: "e", MaxBatchSize: &many}, "the ensemble cannot have max_batch_size 32: that of its step bert is 16"},
	} {
		c.o.Output = dir
		_, err := scaffold.ReadEnsemble(c.steps, c.o)
		require.ErrorContains(t, err, c.want)
	}
}

func TestComments(t *testing.T) {
	t.Parallel()
	m, err := scaffold.Read(model(t, "net.onnx", "batch", 16), scaffold.Options{DefaultMaxBatch: 4})
	require.NoError(t, err)
	require.Equal(t, batched, string(m.Text(false)))
	require.Equal(t, explained, string(m.Text(true)))
}

const explained = `name: "net"

# What runs the model, from the file 1/model.onnx.
backend: "onnxruntime"

# The largest batch, in rows. A request may have as many rows.
max_batch_size: 4

# The shape of one row, without the dimension of the batch.
# A dimension -1 is different from request to request.
input {
  name: "X"
  data_type: TYPE_FP32
  dims: [ 16 ]
}

# A request gets the outputs that it asks for, or all.
output {
  name: "Y"
  data_type: TYPE_INT64
  dims: [ 16 ]
}

# Requests that wait are executed together. With max_queue_delay_microseconds the
# first of them waits for more.
dynamic_batching { }

# Copies of the model that run at the same time; triton analyze finds how many help.
# instance_group [ { count: 2 kind: KIND_CPU } ]

# Serve the two newest version folders instead of the newest one.
# version_policy { latest { num_versions: 2 } }
`
