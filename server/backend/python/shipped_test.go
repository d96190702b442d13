package python

import (
	"encoding/binary"
	cmdline "flag"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

var packages = cmdline.String("packages", "", "a Python with the packages of the shipped backends")

// withPackages returns a Python that can import the modules.
func withPackages(t *testing.T, modules ...string) string {
	t.Helper()
	for _, path := range []string{*packages, interpreter(t)} {
		if path != "" && exec.CommandContext(t.Context(), path, "-c", "import "+strings.Join(modules, ",")).Run() == nil {
			return path
		}
	}
	t.Skipf("needs a Python with %s: name it with -packages", strings.Join(modules, ", "))
	return ""
}

// shippedCase is a model of a shipped backend.
type shippedCase struct {
	modules  []string
	backend  string
	platform string
	file     string
	write    string   // a program that writes the model to the file sys.argv[1]
	params   []string // parameters
	io       bool     // the configuration lists the tensors; else the backend completes it
	in, out  string   // their names
	want     [2][]float32
	dims     []int64 // of the output, after completion
}

// TestShipped runs a batch of two requests on a model of each shipped backend. The models
// take rows of 2 values.
func TestShipped(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts a process for each shipped model")
	}
	data := "import sys, numpy as np\nx=np.array([[0,0],[0,1],[1,0],[1,1]]*25,np.float32); y=x[:,0]\n"
	boosted := data + "import xgboost as b\nb.XGBClassifier(n_estimators=30).fit(x,y.astype(int)).save_model(sys.argv[1])\n"
	softmax := data + "import xgboost as b\nm=b.train({'objective':'multi:softmax','num_class':3},b.DMatrix(x,y*2),30)\nm.save_model(sys.argv[1])\n"
	regress := data + "import xgboost as b\nb.XGBRegressor(n_estimators=100).fit(x,y*8).save_model(sys.argv[1])\n"
	linear := "import sys, torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
	for name, c := range map[string]shippedCase{
		"xgboost": {
			modules: []string{"xgboost", "sklearn"}, backend: "xgboost", file: "xgboost.ubj", write: boosted,
			in: "input__0", out: "output__0", want: [2][]float32{{0}, {1}}, dims: []int64{1},
		},
		"fil threshold": {
			modules: []string{"xgboost", "sklearn"}, backend: "fil", file: "xgboost.json", write: boosted,
			params: []string{"model_type", "xgboost_json", "is_classifier", "true", "threshold", "0.9999"},
			in:     "input__0", out: "output__0", want: [2][]float32{{0}, {0}}, dims: []int64{1},
		},
		"fil softmax": {
			modules: []string{"xgboost", "sklearn"}, backend: "fil", file: "xgboost.ubj", write: softmax,
			params: []string{"model_type", "xgboost_ubj", "output_class", "true"},
			in:     "input__0", out: "output__0", want: [2][]float32{{0}, {2}}, dims: []int64{1},
		},
		"fil regression": {
			modules: []string{"xgboost", "sklearn"}, backend: "fil", file: "xgboost.json", write: regress,
			params: []string{"model_type", "xgboost_json"},
			in:     "input__0", out: "output__0", want: [2][]float32{{0}, {8}}, dims: []int64{1},
		},
		"lightgbm": {
			modules: []string{"lightgbm"}, backend: "lightgbm", file: "model.txt",
			write:  data + "import lightgbm as b\nb.train({'objective':'binary','verbose':-1},b.Dataset(x,y),50).save_model(sys.argv[1])\n",
			params: []string{"predict_proba", "false"},
			in:     "input__0", out: "output__0", want: [2][]float32{{0}, {1}}, dims: []int64{1},
		},
		"sklearn": {
			modules: []string{"sklearn", "joblib"}, backend: "sklearn", file: "model.joblib",
			write:  data + "import joblib\nfrom sklearn.tree import DecisionTreeClassifier as C\njoblib.dump(C().fit(x,y.astype(int)),sys.argv[1])\n",
			params: []string{"predict_proba", "true"},
			in:     "input__0", out: "output__0", want: [2][]float32{{1, 0}, {0, 1}}, dims: []int64{2},
		},
		"sklearn pickle": {
			modules: []string{"sklearn", "joblib"}, backend: "sklearn", file: "model.pkl",
			write: data + "import pickle\nfrom sklearn.linear_model import LinearRegression as C\npickle.dump(C().fit(x,y*4),open(sys.argv[1],'wb'))\n",
			in:    "input__0", out: "output__0", want: [2][]float32{{0}, {4}}, dims: []int64{1},
		},
		"treelite": {
			modules: []string{"treelite", "xgboost", "sklearn"}, backend: "fil", file: "checkpoint.tl",
			write: data + "import treelite, xgboost as b\nm=b.train({},b.DMatrix(x,y*8),100)\nm.save_model(sys.argv[1]+'.json')\n" +
				"treelite.frontend.load_xgboost_model(sys.argv[1]+'.json').serialize(sys.argv[1])\n",
			params: []string{"model_type", "treelite_checkpoint"},
			in:     "input__0", out: "output__0", want: [2][]float32{{0}, {8}}, dims: []int64{1},
		},
		"openvino": {
			modules: []string{"openvino"}, backend: "openvino", file: "model.xml",
			write: "import sys, numpy as np, openvino as ov\nfrom openvino import opset8 as o\np=o.parameter([-1,2],np.float32,name='IN')\np.output(0).get_tensor().set_names({'IN'})\n" +
				"m=o.multiply(p,np.float32(2))\nm.output(0).get_tensor().set_names({'OUT'})\nov.save_model(ov.Model([m],[p]),sys.argv[1])\n",
			in: "IN", out: "OUT", want: [2][]float32{{0, 0}, {2, 0}}, dims: []int64{2},
		},
		"torchscript": {
			modules: []string{"torch"}, backend: "pytorch", platform: "pytorch_libtorch", file: "model.pt", io: true,
			write: linear + "torch.jit.trace(M(), torch.zeros(1,2)).save(sys.argv[1])\n",
			in:    "INPUT__0", out: "OUTPUT__0", want: [2][]float32{{0, 0}, {2, 0}}, dims: []int64{2},
		},
		"torch.export": {
			modules: []string{"torch"}, backend: "pytorch", platform: "torch_aoti", file: "model.pt2", io: true,
			write: linear + "torch.export.save(torch.export.export(M(), (torch.zeros(3,2),), dynamic_shapes=({0: torch.export.Dim('n')},)), sys.argv[1])\n",
			in:    "x", out: "OUT", want: [2][]float32{{0, 0}, {2, 0}}, dims: []int64{2},
		},
		"savedmodel": {
			modules: []string{"tensorflow"}, backend: "tensorflow", platform: "tensorflow_savedmodel", file: "model.savedmodel",
			write: "import sys, tensorflow as tf\nm=tf.Module()\nm.f=tf.function(lambda x: {'OUT': x*2}, input_signature=[tf.TensorSpec([None,2],tf.float32,name='IN')])\n" +
				"tf.saved_model.save(m, sys.argv[1], signatures=m.f)\n",
			in: "IN", out: "OUT", want: [2][]float32{{0, 0}, {2, 0}}, dims: []int64{2},
		},
		"graphdef": {
			modules: []string{"tensorflow"}, backend: "tensorflow", platform: "tensorflow_graphdef", file: "model.graphdef", io: true,
			write: "import sys, tensorflow as tf\ng=tf.Graph()\nwith g.as_default():\n    p=tf.compat.v1.placeholder(tf.float32,[None,2],name='IN')\n    tf.multiply(p,2.0,name='OUT')\n" +
				"open(sys.argv[1],'wb').write(g.as_graph_def().SerializeToString())\n",
			in: "IN", out: "OUT", want: [2][]float32{{0, 0}, {2, 0}}, dims: []int64{2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c *shippedCase) run(t *testing.T) {
	h := newHarness(t, echo)
	python := withPackages(t, c.modules...)
	h.spec.Settings["python-executable"] = python
	cmd := exec.CommandContext(t.Context(), python, "-c", c.write, filepath.Join(h.spec.Dir, c.file))
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	h.parameters(c.params...)
	h.spec.Config.Backend, h.spec.Config.Platform = c.backend, c.platform
	if c.io {
		h.spec.Config.MaxBatchSize = 8
		h.spec.Config.Input[0].Name, h.spec.Config.Input[0].Dims = c.in, []int64{2}
		h.spec.Config.Output[0].Name, h.spec.Config.Output[0].Dims = c.out, []int64{2}
	} else {
		h.spec.Config.Input, h.spec.Config.Output = nil, nil
	}
	runtime := h.backend.Shipped()[c.backend]
	require.NoError(t, runtime.(backend.AutoCompleter).AutoComplete(t.Context(), h.spec))
	require.Equal(t, c.in, h.spec.Config.GetInput()[0].GetName())
	require.Equal(t, []int64{2}, h.spec.Config.GetInput()[0].GetDims())
	require.Equal(t, c.out, h.spec.Config.GetOutput()[0].GetName())
	require.Equal(t, c.dims, h.spec.Config.GetOutput()[0].GetDims())
	require.NotZero(t, h.spec.Config.GetMaxBatchSize())

	h.loadWith(runtime)
	ask := func(x float32) *infer.Request {
		r := h.request(tensor.FP32, tensor.Shape{1, 2}, floatsOf(x, 0))
		r.Inputs[0].Name = c.in
		return r
	}
	responses, err := h.run(ask(0), ask(1))
	require.NoError(t, err)
	defer releaseAll(responses)
	for i, r := range responses {
		require.NoError(t, r.Err)
		out := &r.Outputs[0]
		require.Equal(t, c.out, out.Name)
		require.Equal(t, tensor.Shape{1, c.dims[0]}, out.Shape)
		got := floatsFrom(bytesOf(&out.Data))
		require.InDeltaSlice(t, c.want[i], got, 0.1, fmt.Sprint(got))
	}
}

// TestFramework: requests of equal shapes run at once, others apart; an error is that of
// the requests that ran together.
func TestFramework(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	folder := h.newRuntime(`
import _triton_framework as framework
class TritonPythonModel(framework.FrameworkModel):
    def open(self):
        pass
    def run(self, inputs):
        x = inputs["IN"]
        print("runs", x.shape, flush=True)
        if x.shape[1] == 3:
            raise framework.PlainError("three values")
        if x.shape[1] == 4:
            raise ValueError("four values")
        return {"OUT": x * 2 if x.shape[1] < 5 else (x * 2).astype(np.float64)}
`)
	h.spec.Config.MaxBatchSize = 8
	h.loadWith(h.backend.Runtime(folder))
	ask := func(rows, columns int) *infer.Request {
		return h.request(tensor.FP32, tensor.Shape{int64(rows), int64(columns)}, floats(rows*columns))
	}
	responses, err := h.run(ask(1, 2), ask(1, 3), ask(2, 2), ask(1, 4), ask(1, 5))
	require.NoError(t, err)
	defer releaseAll(responses)
	require.Equal(t, tensor.Shape{1, 2}, responses[0].Outputs[0].Shape)
	require.Equal(t, tensor.Shape{2, 2}, responses[2].Outputs[0].Shape)
	require.EqualError(t, responses[1].Err, "three values")
	require.EqualError(t, responses[3].Err, "ValueError: four values")
	require.EqualError(t, responses[4].Err, "unexpected datatype TYPE_FP64 for inference output 'OUT', expecting TYPE_FP32")
	require.Eventually(t, func() bool { return strings.Contains(h.logged(), "runs (3, 2)") }, time.Minute, time.Millisecond)
}

// TestMissingPackage: a missing package and a missing file are one line.
func TestMissingPackage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: installs packages")
	}
	for name, module := range map[string]string{"pytorch": "torch", "tensorflow": "tensorflow", "openvino": "openvino", "sklearn": "sklearn", "xgboost": "xgboost", "lightgbm": "lightgbm"} {
		h := newHarness(t, echo)
		python := h.spec.Settings["python-executable"]
		h.spec.Config.Backend, h.spec.Config.Platform = name, ""
		m, err := h.backend.Shipped()[name].Load(t.Context(), h.spec)
		require.NoError(t, err)
		_, err = m.NewInstance(t.Context(), backend.Placement{Name: "m_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU})
		require.NoError(t, m.Close())
		require.NotContains(t, err.Error(), "\n", name)
		if exec.CommandContext(t.Context(), python, "-c", "import "+module).Run() == nil {
			continue
		}
		if strings.HasPrefix(err.Error(), "there is no model file in ") {
			continue // the file is looked for first
		}
		require.Contains(t, err.Error(), "the "+name+" backend needs the Python package ", name)
		require.Contains(t, err.Error(), " -m pip install ", name)
	}
}

// loadWith makes an instance of another backend; the test's end closes it.
func (h *harness) loadWith(b backend.Backend) {
	h.t.Helper()
	m, err := b.Load(h.t.Context(), h.spec)
	require.NoError(h.t, err)
	in, err := m.NewInstance(h.t.Context(), backend.Placement{Name: "m_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU})
	if err != nil {
		require.NoError(h.t, m.Close())
	}
	require.NoError(h.t, err)
	h.instance = in
	h.t.Cleanup(func() {
		require.NoError(h.t, in.Close())
		require.NoError(h.t, m.Close())
	})
}

func floatsOf(values ...float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func floatsFrom(b []byte) []float32 {
	values := make([]float32, len(b)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return values
}
