package scaffold_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/onnxmodel"
	"triton/repo"
	"triton/repo/lint"
	"triton/repo/scaffold"
)

func model(t *testing.T, path string, dims ...any) string {
	t.Helper()
	f := onnxmodel.File{
		IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "g",
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("X", onnxmodel.Float, dims...)},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("Y", onnxmodel.Int64, dims...)},
	}
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	path = filepath.Join(t.TempDir(), path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

const batched = `name: "net"
backend: "onnxruntime"
max_batch_size: 4
input {
  name: "X"
  data_type: TYPE_FP32
  dims: [ 16 ]
}
output {
  name: "Y"
  data_type: TYPE_INT64
  dims: [ 16 ]
}
dynamic_batching { }
`

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	file := model(t, "net.onnx", "batch", 16)
	out := t.TempDir()
	o := scaffold.Options{Bare: true, Output: out, DefaultMaxBatch: 4}
	res, err := scaffold.Write(file, o)
	require.NoError(t, err)
	require.Equal(t, "net", res.Name)
	require.Equal(t, []string{filepath.Join(out, "net/1/model.onnx"), filepath.Join(out, "net/config.pbtxt")}, res.Files)
	require.Equal(t, batched, read(t, filepath.Join(out, "net/config.pbtxt")))
	require.Equal(t, read(t, file), read(t, filepath.Join(out, "net/1/model.onnx")))
	require.Len(t, res.Notes, 1)

	models, err := repo.Open(out)
	require.NoError(t, err)
	require.Empty(t, lint.Check(models, lint.Options{DefaultMaxBatch: 4, CPUs: 1}), "what is made has no findings")

	_, err = scaffold.Write(file, o)
	require.ErrorIs(t, err, os.ErrExist)
	o.Force = true
	require.NoError(t, os.WriteFile(filepath.Join(out, "net/config.pbtxt"), []byte("mine"), 0o644))
	_, err = scaffold.Write(file, o)
	require.NoError(t, err)
	require.Equal(t, batched, read(t, filepath.Join(out, "net/config.pbtxt")))
}

// TestWriteInPlace writes the configuration of a model that is already in its repository.
func TestWriteInPlace(t *testing.T) {
	t.Parallel()
	file := model(t, "models/net/1/model.onnx", "batch", 16)
	before := read(t, file)
	out := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	res, err := scaffold.Write(file, scaffold.Options{Bare: true, Output: out, DefaultMaxBatch: 4})
	require.NoError(t, err)
	require.Equal(t, "net", res.Name)
	require.Equal(t, batched, read(t, filepath.Join(out, "net/config.pbtxt")))
	require.Equal(t, before, read(t, file))
}

func TestMaxBatchSize(t *testing.T) {
	t.Parallel()
	none, many := 0, 64
	open, fixed := model(t, "net.onnx", "batch", 16), model(t, "net.onnx", 1, 16)
	for _, c := range []struct {
		file string
		size *int
		want []string
		not  string
	}{
		{open, nil, []string{"max_batch_size: 4", "dims: [ 16 ]", "dynamic_batching"}, "-1"},
		{open, &many, []string{"max_batch_size: 64", "dims: [ 16 ]", "dynamic_batching"}, "-1"},
		{open, &none, []string{"dims: [ -1, 16 ]"}, "batch"},
		{fixed, nil, []string{"dims: [ 1, 16 ]"}, "batch"},
	} {
		out := t.TempDir()
		_, err := scaffold.Write(c.file, scaffold.Options{Bare: true, Output: out, MaxBatchSize: c.size, DefaultMaxBatch: 4})
		require.NoError(t, err)
		text := read(t, filepath.Join(out, "net/config.pbtxt"))
		for _, w := range c.want {
			require.Contains(t, text, w)
		}
		require.NotContains(t, text, c.not)
	}
	_, err := scaffold.Write(fixed, scaffold.Options{Bare: true, Output: t.TempDir(), MaxBatchSize: &many})
	require.ErrorContains(t, err, "model does not support batching while non-zero max_batch_size is specified")
}

func TestLink(t *testing.T) {
	t.Parallel()
	file := model(t, "net.onnx", "batch", 16)
	out := t.TempDir()
	_, err := scaffold.Write(file, scaffold.Options{Bare: true, Output: out, Name: "other", Link: true})
	require.NoError(t, err)
	to, err := os.Readlink(filepath.Join(out, "other/1/model.onnx"))
	require.NoError(t, err)
	require.Equal(t, file, to)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	file := model(t, "net.onnx", 16)
	for _, name := range []string{"..", "a/b", `a\b`} {
		_, err := scaffold.Write(file, scaffold.Options{Bare: true, Output: t.TempDir(), Name: name})
		require.ErrorContains(t, err, "cannot be a model's name")
	}
	other := filepath.Join(t.TempDir(), "weights.bin")
	require.NoError(t, os.WriteFile(other, []byte("no model"), 0o600))
	_, err := scaffold.Write(other, scaffold.Options{Bare: true, Output: t.TempDir()})
	require.ErrorContains(t, err, "a file that is not ONNX must be .py, .pt (TorchScript), .xml (OpenVINO), an XGBoost or LightGBM model, .pkl or .joblib (scikit-learn) or a SavedModel's folder")
	_, err = scaffold.Write(filepath.Join(t.TempDir(), "absent.onnx"), scaffold.Options{Bare: true})
	require.ErrorIs(t, err, os.ErrNotExist)

	lost := filepath.Join(t.TempDir(), "external.onnx")
	data, err := os.ReadFile("../../pkg/onnxmodel/testdata/external.onnx")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(lost, data, 0o644))
	out := t.TempDir()
	_, err = scaffold.Write(lost, scaffold.Options{Bare: true, Output: out})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(lost), "weights.bin"), []byte("w"), 0o644))
	_, err = scaffold.Write(lost, scaffold.Options{Bare: true, Output: out})
	require.NoError(t, err)
	require.Equal(t, "w", read(t, filepath.Join(out, "external/1/weights.bin")), "weights come along")
}
