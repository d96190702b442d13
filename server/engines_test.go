package server_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

// enginePython names the interpreter with the libraries of the native engines.
const enginePython = "TRITON_ENGINES"

// engineCase is a model that both forms of its backend serve.
type engineCase struct {
	name, backend, file string
	config              string // in addition to the backend; what is missing is completed
	input               string // its name; input__0 if it is empty
	columns             int
	datatype            string // FP32 if it is empty
}

var engineCases = []engineCase{
	{name: "xgboost", backend: "fil", file: "xgboost.json", config: `max_batch_size: 16`},
	{name: "xgboost_class", backend: "fil", file: "xgboost.json", config: parameters("is_classifier", "true", "threshold", "0.3")},
	{name: "xgboost_proba", backend: "fil", file: "xgboost.json", config: `max_batch_size: 16 input { name: "input__0" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "output__0" data_type: TYPE_FP32 dims: [ 2 ] }` + parameters("is_classifier", "true", "predict_proba", "true")},
	{name: "xgboost_regression", backend: "xgboost", file: "xgboost.ubj"},
	{name: "xgboost_softprob", backend: "xgboost", file: "softprob.json", config: `default_model_filename: "softprob.json"` + parameters("model_type", "xgboost_json")},
	{name: "xgboost_softprob_proba", backend: "xgboost", file: "softprob.json", config: `default_model_filename: "softprob.json"` + parameters("model_type", "xgboost_json", "predict_proba", "true")},
	{name: "xgboost_softmax_proba", backend: "fil", file: "softmax.json", config: `default_model_filename: "softmax.json"` + parameters("model_type", "xgboost_json", "predict_proba", "true")},
	{name: "lightgbm", backend: "lightgbm", file: "model.txt"},
	{name: "lightgbm_proba", backend: "lightgbm", file: "model.txt", config: parameters("predict_proba", "true")},
	{name: "lightgbm_multiclass", backend: "lightgbm", file: "multiclass.txt", config: `default_model_filename: "multiclass.txt"`},
	{name: "lightgbm_fil", backend: "fil", file: "multiclass.txt", config: `default_model_filename: "multiclass.txt"` + parameters("model_type", "lightgbm", "nthread", "2")},
	{name: "lightgbm_regression", backend: "fil", file: "regression.txt", config: `default_model_filename: "regression.txt"` + parameters("model_type", "lightgbm")},
	{name: "lightgbm_longs", backend: "lightgbm", file: "model.txt", config: `max_batch_size: 16 input { name: "input__0" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "output__0" data_type: TYPE_INT64 dims: [ 1 ] }`},
	{name: "treelite", backend: "fil", file: "checkpoint.tl", config: parameters("model_type", "treelite_checkpoint")},
	{name: "treelite_wide", backend: "fil", file: "wide.tl", config: `default_model_filename: "wide.tl"` + parameters("model_type", "treelite_checkpoint", "is_classifier", "true")},
	{name: "openvino", backend: "openvino", file: "model.xml", input: "x"},
	{name: "openvino_options", backend: "openvino", file: "model.xml", input: "x", config: parameters("NUM_STREAMS", "1", "INFERENCE_NUM_THREADS", "1", "PERFORMANCE_HINT", "LATENCY")},
	{name: "openvino_fixed", backend: "openvino", file: "fixed.xml", input: "x", config: `default_model_filename: "fixed.xml" max_batch_size: 16 input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }`},
	{name: "openvino_reshape", backend: "openvino", file: "fixed.xml", input: "x", config: `default_model_filename: "fixed.xml" input { name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] }` + parameters("RESHAPE_IO_LAYERS", "YES")},
	{name: "openvino_text", backend: "openvino", file: "text.xml", config: `default_model_filename: "text.xml"`, input: "y", columns: 2, datatype: "BYTES"},
	{name: "openvino_longs", backend: "openvino", file: "longs.xml", config: `default_model_filename: "longs.xml"`, input: "x", columns: 2, datatype: "INT64"},
}

func parameters(pairs ...string) string {
	text := ""
	for i := 0; i < len(pairs); i += 2 {
		text += fmt.Sprintf(" parameters { key: %q value { string_value: %q } }", pairs[i], pairs[i+1])
	}
	return text
}

// runtimes of the forms of a backend.
var runtimes = map[string]string{"native": "libtriton_%s.so", "python": "model.py"}

// startEngines serves each case in these forms as <name>_<form>.
func startEngines(t *testing.T, cases []engineCase, forms ...string) *servertest.Server {
	python, dir := os.Getenv(enginePython), t.TempDir() //nolint:forbidigo // names what the test needs
	if python == "" {
		t.Skip("needs the libraries of the engines: run `make engines`")
	}
	files := []string{"../testdata/engines/models.py", dir}
	for _, c := range cases {
		files = append(files, c.file)
	}
	out, err := exec.CommandContext(t.Context(), python, files...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	models := filepath.Join(dir, "models")
	for _, c := range cases {
		for _, form := range forms {
			runtime := strings.ReplaceAll(runtimes[form], "%s", c.backend)
			model := filepath.Join(models, c.name+"_"+form)
			require.NoError(t, os.MkdirAll(model, 0o755))
			require.NoError(t, os.Mkdir(filepath.Join(model, "1"), 0o755))
			weights := c.file[:len(c.file)-len(filepath.Ext(c.file))] + ".bin"
			for _, f := range []string{c.file, weights} {
				if data, err := os.ReadFile(filepath.Join(dir, f)); f == c.file || err == nil {
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(filepath.Join(model, "1", f), data, 0o644))
				}
			}
			config := fmt.Sprintf("backend: %q runtime: %q %s", c.backend, runtime, c.config)
			require.NoError(t, os.WriteFile(filepath.Join(model, "config.pbtxt"), []byte(config), 0o644))
		}
	}
	return servertest.Start(t, servertest.Repository(models), servertest.With(func(o *server.Options) {
		o.BackendSettings = pythonSettings(python)
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"*"}
	}))
}

// Both forms of a backend complete a configuration alike and answer the same.
func TestEngineForms(t *testing.T) {
	t.Parallel()
	isForest := func(c engineCase) bool { return c.backend != "openvino" }
	t.Run("forests", func(t *testing.T) {
		compareForms(t, slices.DeleteFunc(slices.Clone(engineCases), func(c engineCase) bool { return !isForest(c) }))
	})
	t.Run("openvino", func(t *testing.T) { compareForms(t, slices.DeleteFunc(slices.Clone(engineCases), isForest)) })
}

func compareForms(t *testing.T, cases []engineCase) {
	s := startEngines(t, cases, "native", "python")
	g, random := dial(t, s.GRPC), rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config := func(form string) *inferencepb.ModelConfig {
				r, err := g.ModelConfig(t.Context(), &inferencepb.ModelConfigRequest{Name: c.name + "_" + form})
				require.NoError(t, err)
				return r.Config
			}
			native, python := config("native"), config("python")
			require.Equal(t, fmt.Sprint(python.Input), fmt.Sprint(native.Input))
			require.Equal(t, fmt.Sprint(python.Output), fmt.Sprint(native.Output))
			require.Equal(t, python.MaxBatchSize, native.MaxBatchSize)
			require.Equal(t, python.GetDynamicBatching() != nil, native.GetDynamicBatching() != nil)
			for _, rows := range []int{1, 3, 4} {
				data := c.data(random, rows)
				ask := func(form string) *inferencepb.ModelInferResponse {
					r, err := g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
						ModelName: c.name + "_" + form, RawInputContents: [][]byte{data}, Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{c.tensor(rows)},
					})
					require.NoError(t, err)
					return r
				}
				native, python := ask("native"), ask("python")
				require.Equal(t, python.Outputs[0].Shape, native.Outputs[0].Shape)
				require.Equal(t, python.Outputs[0].Datatype, native.Outputs[0].Datatype)
				if want, got := python.RawOutputContents[0], native.RawOutputContents[0]; python.Outputs[0].Datatype != "FP32" {
					require.True(t, bytes.Equal(want, got), "%q, not %q", got, want)
				} else {
					require.InDeltaSlice(t, floats(want), floats(got), 1e-6)
				}
			}
		})
	}
}

func (c engineCase) tensor(rows int) *inferencepb.ModelInferRequest_InferInputTensor {
	in := &inferencepb.ModelInferRequest_InferInputTensor{Name: c.input, Datatype: c.datatype, Shape: []int64{int64(rows), int64(c.columns)}}
	if in.Name == "" {
		in.Name = "input__0"
	}
	if in.Datatype == "" {
		in.Datatype, in.Shape[1] = "FP32", 4
	}
	return in
}

func (c engineCase) data(random *rand.Rand, rows int) []byte {
	var b []byte
	for range rows * int(c.tensor(rows).Shape[1]) {
		switch c.datatype {
		case "BYTES":
			text := "text longer than the room inside of a string"[:1+random.IntN(43)]
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
		case "INT64":
			b = binary.LittleEndian.AppendUint64(b, random.Uint64())
		default:
			b, _ = binary.Append(b, binary.LittleEndian, float32(random.NormFloat64()))
		}
	}
	return b
}

func floats(b []byte) []float32 {
	list := make([]float32, len(b)/4)
	_, _ = binary.Decode(b, binary.LittleEndian, list)
	return list
}

// Mistakes in files, configurations and requests are errors that say what is wrong.
func TestEngineFaults(t *testing.T) {
	t.Parallel()
	s := startEngines(t, []engineCase{
		{name: "text", backend: "openvino", file: "text.xml", config: `default_model_filename: "text.xml"`},
		{name: "forest", backend: "fil", file: "xgboost.json", config: `input { name: "input__0" data_type: TYPE_FP32 dims: [ -1, -1 ] } output { name: "output__0" data_type: TYPE_FP32 dims: [ -1, 1 ] }`},
	}, "native")
	g := dial(t, s.GRPC)
	ask := func(name string, data []byte, in *inferencepb.ModelInferRequest_InferInputTensor) error {
		_, err := g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
			ModelName: name, RawInputContents: [][]byte{data}, Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{in},
		})
		return err
	}
	row := (engineCase{input: "y", columns: 2, datatype: "BYTES"}).tensor(1)
	require.ErrorContains(t, ask("text_native", []byte("\x02\x00\x00\x00a\x00\x00\x00\x00\x00"), row), "a string of input 'y' has a byte 0, which OpenVINO cannot take")
	require.NoError(t, ask("text_native", []byte("\x01\x00\x00\x00a\x00\x00\x00\x00"), row))
	wide := (engineCase{}).tensor(1)
	wide.Shape = []int64{1, 5}
	require.ErrorContains(t, ask("forest_native", make([]byte, 20), wide), "input 'input__0' of shape [1,5] has 5 values in a row, the model 'forest_native' takes 4")
	require.NoError(t, ask("forest_native", make([]byte, 16), (engineCase{}).tensor(1)))

	load := func(config, file, content string) error {
		_, err := g.RepositoryModelLoad(t.Context(), &inferencepb.RepositoryModelLoadRequest{ModelName: "text_native", Parameters: map[string]*inferencepb.ModelRepositoryParameter{
			"config":         {ParameterChoice: &inferencepb.ModelRepositoryParameter_StringParam{StringParam: config}},
			"file:1/" + file: {ParameterChoice: &inferencepb.ModelRepositoryParameter_BytesParam{BytesParam: []byte(content)}},
		}})
		return err
	}
	for _, c := range []struct{ backend, file, content, want string }{
		{"openvino", "model.xml", "<net>", "OpenVINO cannot read"},
		{"fil", "xgboost.json", "{", "XGBoost cannot load"},
		{"lightgbm", "model.txt", "tree", "LightGBM cannot load"},
		{"openvino", "other.xml", "", "there is no model file in"},
	} {
		config := fmt.Sprintf(`{"backend": %q, "runtime": "libtriton_%s.so"}`, c.backend, c.backend)
		require.ErrorContains(t, load(config, c.file, c.content), c.want)
	}
}

// Any number of instances and callers get the answers that belong to them.
func TestEngineConcurrency(t *testing.T) {
	t.Parallel()
	group := " instance_group { count: 3 kind: KIND_CPU }"
	cases := []engineCase{
		{name: "xgboost", backend: "fil", file: "xgboost.json", config: group},
		{name: "lightgbm", backend: "lightgbm", file: "model.txt", config: group},
		{name: "treelite", backend: "fil", file: "checkpoint.tl", config: group + parameters("model_type", "treelite_checkpoint")},
		{name: "openvino", backend: "openvino", file: "model.xml", input: "x", config: group},
	}
	s := startEngines(t, cases, "native")
	g := dial(t, s.GRPC)
	var callers errgroup.Group
	for _, c := range cases {
		random := rand.New(rand.NewPCG(3, 4))
		ask := func(data []byte) ([]byte, error) {
			r, err := g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
				ModelName: c.name + "_native", RawInputContents: [][]byte{data}, Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{c.tensor(1)},
			})
			if err != nil {
				return nil, err
			}
			return r.RawOutputContents[0], nil
		}
		for range 8 {
			data := c.data(random, 1)
			want, err := ask(data)
			require.NoError(t, err)
			callers.Go(func() error {
				for range 100 {
					if got, err := ask(data); err != nil || !bytes.Equal(want, got) {
						return fmt.Errorf("%s: %w: %v, not %v", c.name, err, got, want)
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, callers.Wait())
}
