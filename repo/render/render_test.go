package render_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/repo"
	"triton/repo/example"
	"triton/repo/render"
	"triton/server/servertest"
)

var options = render.Options{DefaultMaxBatch: 4}

// TestServer compares the completed configurations with those that a real server answers with.
func TestServer(t *testing.T) {
	t.Parallel()
	lib, err := filepath.Glob("../../lib/libonnxruntime*")
	require.NoError(t, err)
	if len(lib) == 0 && os.Getenv("TRITON_ONNXRUNTIME_LIBRARY") == "" {
		t.Skip("needs ONNX Runtime: run `make onnxruntime`")
	}
	dir := t.TempDir()
	names := []string{"simple", "onnx_accumulator", "text_pipeline", "custom_identity_int32", "square_int32", "custom_sequence_int32"}
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Seed: example.DefaultSeed, Models: names}))
	bare := filepath.Join(dir, "bare", "1")
	require.NoError(t, os.MkdirAll(bare, 0o755))
	graph, err := os.ReadFile(filepath.Join(dir, "simple", "1", "model.onnx"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bare, "model.onnx"), graph, 0o644))

	server := servertest.Start(t, servertest.Repository(dir))
	models, err := repo.Open(dir)
	require.NoError(t, err)
	require.Greater(t, len(models), len(names), "the models of the pipeline, and the bare one")
	for i := range models {
		r, err := render.Complete(&models[i], options)
		require.NoError(t, err)
		answer, err := http.Get("http://" + server.HTTP + "/v2/models/" + models[i].Name + "/config")
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s", text)
		want, err := modelconfig.ParseJSON("", text)
		require.NoError(t, err)
		for _, g := range want.InstanceGroup {
			if g.Kind == inferencepb.ModelInstanceGroup_KIND_GPU {
				t.Skip("the machine has GPUs")
			}
		}
		require.Equal(t, prototext.Format(want.ModelConfig), prototext.Format(r.Config), models[i].Name)

		for _, marks := range []bool{true, false} {
			text, err := r.Text(marks)
			require.NoError(t, err)
			again, err := modelconfig.Parse("", text)
			require.NoError(t, err)
			require.True(t, proto.Equal(r.Config, again.ModelConfig), "%s", text)
			require.Equal(t, marks, strings.Contains(string(text), "# added: "))
		}
	}
}

// open returns the model of a configuration with empty files in its directory.
func open(t *testing.T, config string, files ...string) *repo.Model {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("config.pbtxt", config)
	for _, f := range files {
		write(f, "")
	}
	models, err := repo.Open(dir)
	require.NoError(t, err)
	return &models[0]
}

// TestText keeps the comments of the file, and gives the reason of each addition.
func TestText(t *testing.T) {
	t.Parallel()
	r, err := render.Complete(open(t, `# mine
max_batch_size: 8 # rows
input { name: "X" data_type: TYPE_FP32 dims: [ 4 ] }
dynamic_batching { } # joined
instance_group [ { count: 2 } ]
`, "1/model.py"), render.Options{DefaultMaxBatch: 4, GPUs: 1})
	require.NoError(t, err)
	text, err := r.Text(true)
	require.NoError(t, err)
	require.Equal(t, `# mine
max_batch_size: 8  # rows
input { name: "X" data_type: TYPE_FP32 dims: [ 4 ] }
dynamic_batching {
  preferred_batch_size: [ 8 ]  # added: the server's default
}  # joined
instance_group [
  {
    count: 2
    gpus: [ 0 ]  # added: the default for a machine with one GPU
    name: "m_0"  # added: the default for a machine with one GPU
    kind: KIND_GPU  # added: the default for a machine with one GPU
  }
]
name: "m"  # added: the name of the directory
version_policy {  # added: the server's default
  latest {
    num_versions: 1
  }
}
default_model_filename: "model.py"  # added: follows from the backend
optimization {  # added: the server's default
  input_pinned_memory {
    enable: true
  }
  output_pinned_memory {
    enable: true
  }
}
backend: "python"  # added: the model file is model.py
`, string(text))
	require.Equal(t, []string{"inputs and outputs come from auto_complete_config of model.py when it loads"}, r.Notes)
}

// TestFails says which file cannot be completed, and why.
func TestFails(t *testing.T) {
	t.Parallel()
	_, err := render.Complete(open(t, "nothing: 1", "1/model.py"), options)
	require.ErrorContains(t, err, "config.pbtxt:1:1")
	_, err = render.Complete(open(t, "", "1/weights"), options)
	require.ErrorContains(t, err, "Could not determine backend")
	r, err := render.Complete(open(t, `backend: "onnxruntime"`, "1/other.onnx"), options)
	require.NoError(t, err)
	require.Equal(t, []string{"the model file is not there: inputs and outputs are not completed"}, r.Notes)
	r, err = render.Complete(open(t, `backend: "onnxruntime"`, "1/model.onnx"), options)
	require.NoError(t, err)
	require.Len(t, r.Notes, 1)
	require.Contains(t, r.Notes[0], "inputs and outputs are not completed: ")
}

// TestDecoupled takes the transaction policy of an ensemble from its models.
func TestDecoupled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	step := func(model string) string {
		return `platform: "ensemble" ensemble_scheduling { step { model_name: "` + model + `" input_map { key: "X" value: "X" } output_map { key: "Y" value: "Y" } } }`
	}
	for name, config := range map[string]string{
		"many": `backend: "identity" model_transaction_policy { decoupled: true }`, "one": `backend: "identity"`,
		"inner": step("many"), "outer": step("inner"), "plain": step("one"), "loop": step("loop"), "out": step("../many"),
	} {
		path := filepath.Join(dir, name, "config.pbtxt")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(config), 0o644))
	}
	models, err := repo.Open(dir)
	require.NoError(t, err)
	for i := range models {
		r, err := render.Complete(&models[i], options)
		require.NoError(t, err)
		name := models[i].Name
		require.Equal(t, name == "many" || name == "inner" || name == "outer", r.Config.Decoupled(), name)
	}
}
