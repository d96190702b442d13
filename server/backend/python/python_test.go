package python

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server/backend"
	"triton/server/infer"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(testServerVariable); dir != "" {
		_, err := (&environmentStore{}).Find(context.Background(), installing(dir))
		fmt.Println(err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

const echo = `
class TritonPythonModel:
    def execute(self, requests):
        self.kept = getattr(self, "kept", [])
        self.kept = self.kept[-2:] + [r.inputs()[0].as_numpy() for r in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy()),
            pb_utils.Tensor("NOBODY", np.zeros(3))]) for r in requests]
    def finalize(self):
        print("finalized")
`

// Tensors of many sizes come back as they are, in batches, also when the model keeps
// arrays of earlier requests, and their memory is given back.
func TestTensorsTravel(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	require.NoError(t, h.load())
	for _, n := range []int{1, 0, 5, 1000, 300_000, 2, 1 << 20, 7} {
		var all []*infer.Request
		for i := range 3 {
			all = append(all, h.request(tensor.FP32, tensor.Shape{int64(n + i)}, floats(n+i)))
		}
		responses, err := h.run(all...)
		require.NoError(t, err)
		for i, resp := range responses {
			require.NoError(t, resp.Err)
			require.Len(t, resp.Outputs, 1)
			out := &resp.Outputs[0]
			require.Equal(t, "OUT", out.Name)
			require.Equal(t, tensor.Shape{int64(n + i)}, out.Shape)
			require.Equal(t, floats(n+i), bytesOf(&out.Data))
			resp.Release()
		}
	}
	require.LessOrEqual(t, len(h.instance.(*instance).events.mu.blocks), 5, "memory of requests that the model has forgotten")
}

// TestSharedMemory: the memory of tensors is counted while the model or a client has them.
func TestSharedMemory(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy() * 2)]) for r in requests]
`)
	total, used := h.backend.SharedMemory()
	require.Zero(t, total+used)
	require.NoError(t, h.load())
	const n = 1 << 20
	responses, err := h.run(h.request(tensor.FP32, tensor.Shape{n}, floats(n)))
	require.NoError(t, err)
	total, used = h.backend.SharedMemory()
	require.GreaterOrEqual(t, used, int64(4*n))
	require.GreaterOrEqual(t, total, used)
	releaseAll(responses)
	require.Eventually(t, func() bool { _, used := h.backend.SharedMemory(); return used < 4*n }, waitFor, tick)
}

// A batch whose outputs get no memory fails; the next one has memory again.
func TestNoMemoryForOutputs(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
class TritonPythonModel:
    def execute(self, requests):
        n = int(requests[0].request_id())
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.zeros(n, np.uint8))])]
`)
	source, err := tensor.NewMemfd()
	require.NoError(t, err)
	rules := tensortest.New(source)
	h.backend.memory = sync.OnceValues(func() (*memory, error) { return openMemory(rules.Pool) })
	require.NoError(t, h.load())
	run := func(n string) error {
		r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
		r.ID = n
		responses, err := h.run(r)
		for _, resp := range responses {
			resp.Release()
		}
		return err
	}
	require.NoError(t, run("1000000"))
	rules.Refuse(tensortest.Above(100_000))
	for range 2 {
		require.ErrorContains(t, run("1000000"), "the server has no memory for 1000000 bytes of outputs")
		require.NoError(t, run("10"))
	}
	rules.Refuse(nil)
	require.NoError(t, run("1000000"))
}

// TestText returns text of NumPy, which becomes BYTES in UTF-8 as objects do.
func TestText(t *testing.T) {
	t.Parallel()
	for _, array := range []string{"np.array(['h\u00e9llo', ''])", "np.array(['h\u00e9llo', ''], object)", "np.array(['x', 'h\u00e9llo', 'x', ''])[1::2]"} {
		h := newHarness(t, "class TritonPythonModel:\n    def execute(self, r): return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', "+array+")])]\n")
		require.NoError(t, h.load())
		responses, err := h.run(h.request(tensor.FP32, tensor.Shape{1}, floats(1)))
		require.NoError(t, err)
		out := &responses[0].Outputs[0]
		require.Equal(t, tensor.Bytes, out.DataType)
		require.Equal(t, tensor.Shape{2}, out.Shape)
		require.Equal(t, tensor.AppendElementString(tensor.AppendElementString(nil, "h\u00e9llo"), ""), bytesOf(&out.Data))
		responses[0].Release()
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	require.NoError(t, h.load())
	for _, kind := range tensor.DataTypes() {
		if kind == tensor.BF16 {
			continue
		}
		data := floats(4)[:max(kind.Size(), 1)*2]
		shape := tensor.Shape{2, 1}
		if kind == tensor.Bool {
			data = []byte{0, 1}
		}
		if kind == tensor.Bytes {
			data = tensor.AppendElementString(tensor.AppendElementString(nil, "a\x00b"), "")
		}
		responses, err := h.run(h.request(kind, shape, data))
		require.NoError(t, err, kind)
		require.NoError(t, responses[0].Err, kind)
		out := &responses[0].Outputs[0]
		require.Equal(t, kind, out.DataType)
		require.Equal(t, shape, out.Shape)
		require.Equal(t, data, bytesOf(&out.Data))
		responses[0].Release()
	}
	_, err := h.run(h.request(tensor.BF16, tensor.Shape{1}, []byte{1, 2}))
	require.ErrorContains(t, err, "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead.")
	_, err = h.run(h.request(tensor.Bytes, tensor.Shape{1}, []byte{9, 0, 0, 0, 1}))
	require.ErrorContains(t, err, "Invalid bytes tensor data: string extends beyond buffer")
}

// The texts are NVIDIA's, recorded from its server.
func TestExecuteErrors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a process of Python for each message")
	}
	for _, c := range []struct{ name, source, text string }{
		{
			"raises", "    def inner(self): raise pb_utils.TritonModelException('deep')\n    def execute(self, r):\n        self.inner()\n",
			"TritonModelException: deep\n\nAt:\n  $(4): inner\n  $(6): execute\n",
		},
		{
			"native", "    def execute(self, r): return [pb_utils.InferenceResponse([pb_utils.Tensor('', np.zeros(1))])]\n",
			"TritonModelException: Tensor name cannot be an empty string.\n\nAt:\n  $(4): execute\n",
		},
		{
			"dtype", "    def execute(self, r): return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.zeros(1, complex))])]\n",
			"TritonModelException: NumPy dtype is not supported.\n\nAt:\n  $(4): execute\n",
		},
		{
			"list", "    def execute(self, r): return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', [1.0])])]\n",
			"TypeError: __init__(): incompatible constructor arguments. The following argument types are supported:\n    1. c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)\n\nInvoked with: 'OUT', [1.0]\n\nAt:\n  $(4): execute\n",
		},
		{"async", "    async def execute(self, r): raise ValueError('in a coroutine')\n", "ValueError: in a coroutine\n\nAt:\n  $(4): execute\n"},
		{"type", "    def execute(self, r): return 5\n", "Expected a list in the execute return, found type '<class 'int'>'."},
		{"count", "    def execute(self, r): return []\n", "Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:1, and InferenceResponse(s) size is:0\n"},
		{"element", "    def execute(self, r): return [1]\n", "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'int'>'."},
		{"missing", "    pass\n", "Python model $ does not implement `execute` method."},
		{"exit", "    def execute(self, r): raise SystemExit(3)\n", "SystemExit: 3\n\nAt:\n  $(4): execute\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, "class TritonPythonModel:\n"+c.source)
			require.NoError(t, h.load())
			for range 2 { // the instance goes on
				_, err := h.run(h.request(tensor.FP32, tensor.Shape{1}, floats(1)))
				want := strings.ReplaceAll(c.text, "$", filepath.Join(h.spec.Dir, "model.py"))
				require.EqualError(t, err, "Failed to process the request(s) for model 'm_0', message: "+want)
				require.Equal(t, status.Internal, status.CodeOf(err))
				require.NotErrorIs(t, err, backend.ErrBroken)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a process of Python for each message")
	}
	for _, c := range []struct{ name, source, text string }{
		{"raises", "class TritonPythonModel:\n    def initialize(self, args): raise ValueError('boom')\n", "ValueError: boom\n\nAt:\n  $(4): initialize\n"},
		{"class", "", "AttributeError: module '1.model' has no attribute 'TritonPythonModel'"},
		{"syntax", "x = )\n", "SyntaxError: unmatched ')' (model.py, line 3)"},
		{"import", "import nosuchmodule\n", "ModuleNotFoundError: No module named 'nosuchmodule'\n\nAt:\n  $(3): <module>\n"},
	} {
		h := newHarness(t, c.source)
		err := h.load()
		require.ErrorContains(t, err, strings.ReplaceAll(c.text, "$", filepath.Join(h.spec.Dir, "model.py")), c.name)
		require.Equal(t, status.Internal, status.CodeOf(err))
	}
	h := newHarness(t, "import os\nprint('last words', flush=True)\nos._exit(4)\n")
	err := h.load()
	require.EqualError(t, err, "Stub process 'm_0' is not healthy. The cause: the process exited with code 4")
	require.ErrorIs(t, err, backend.ErrBroken)
	require.Contains(t, h.logged(), "last words")
	h.spec.File = "model.txt"
	require.EqualError(t, h.load(), `Model name must end with '.py'. Model name is "model.txt".`)
	h.spec.File = "other.py"
	require.EqualError(t, h.load(), "Failed to preinitialize Python stub: Python model file not found in '"+h.spec.Dir+"/other.py'")
}

func TestNumpyIsMissing(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	dir := t.TempDir()
	script := filepath.Join(dir, "python")
	python := h.spec.Settings["python-executable"]
	require.NoError(t, os.WriteFile(filepath.Join(dir, "numpy.py"), []byte("raise ImportError('none here')\n"), 0o644))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nPYTHONPATH="+dir+" exec "+python+" \"$@\"\n"), 0o755))
	h.spec.Settings["python-executable"] = script
	require.ErrorContains(t, h.load(), "Python models need numpy, which "+script+" cannot import (ImportError: none here): run ")
	h.spec.Settings["python-executable"] = "/no/python"
	require.ErrorContains(t, h.load(), "no Python interpreter: ")
}

// traced is a trace with a context.
type traced struct{}

func (traced) Observe(infer.Event) {}
func (traced) Child() infer.Trace  { return traced{} }
func (traced) Context() string     { return `{"traceparent":"x"}` }

// A request and the arguments of initialize, as model.py sees them.
func TestRequest(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
import json, os
class TritonPythonModel:
    def initialize(self, args):
        self.args = args
        pb_utils.Logger.log_warn("from initialize")
    async def execute(self, requests):
        r = requests[0]
        text = " ".join(map(str, [r.request_id(), r.correlation_id(), r.flags(), r.timeout(), r.parameters(), json.loads(r.parameters())["nan"], sorted(r.requested_output_names()),
            r.is_cancelled(), r.trace().get_context(), pb_utils.get_input_tensor_by_name(r, "IN").shape(), pb_utils.get_input_tensor_by_name(r, "X"),
            self.args["model_instance_kind"], self.args["model_instance_name"], self.args["model_version"], os.path.basename(pb_utils.get_model_dir())]))
        out = pb_utils.Tensor("OUT", np.array([text, b"raw"], dtype=object))
        return [pb_utils.InferenceResponse([out], parameters={"a": 1, "b": True, "c": "d"}),
            pb_utils.InferenceResponse(error=pb_utils.TritonError("not here: " + requests[1].parameters(), pb_utils.TritonError.NOT_FOUND))]
`)
	require.NoError(t, h.load())
	r := h.request(tensor.FP32, tensor.Shape{1, 2}, floats(2))
	r.SequenceIDStr, r.SequenceStart, r.SequenceEnd, r.TimeoutMicros = "corr", true, true, 9
	r.Trace = traced{}
	r.Parameters = append(r.Parameters, kserve.Parameter{Name: "p", Kind: kserve.ParamInt, Int: -4}, kserve.Parameter{Name: "q\"", Kind: kserve.ParamString, String: "é"},
		kserve.Parameter{Name: "b", Kind: kserve.ParamBool, Bool: true}, kserve.Parameter{Name: "d", Kind: kserve.ParamDouble, Double: 0.5})
	for name, x := range map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "minus": math.Inf(-1), "whole": 100} {
		r.Parameters = append(r.Parameters, kserve.Parameter{Name: name, Kind: kserve.ParamDouble, Double: x})
	}
	slices.SortStableFunc(r.Parameters, func(a, b kserve.Parameter) int { return strings.Compare(a.Name, b.Name) })
	responses, err := h.run(r, h.request(tensor.FP32, tensor.Shape{1, 2}, floats(2)))
	require.NoError(t, err)
	want := `id corr 3 9 {"b":true,"d":0.5,"inf":Infinity,"minus":-Infinity,"nan":NaN,"p":-4,"q\"":"é","whole":100.0} nan ['OUT'] False {"traceparent":"x"} [1, 2] None CPU m_0 1 1`
	require.Equal(t, string(tensor.AppendElementString(tensor.AppendElementString(nil, want), "raw")), string(bytesOf(&responses[0].Outputs[0].Data)))
	require.Equal(t, []kserve.Parameter{{Name: "a", Kind: kserve.ParamInt, Int: 1}, {Name: "b", Kind: kserve.ParamBool, Bool: true}, {Name: "c", Kind: kserve.ParamString, String: "d"}}, responses[0].Parameters)
	require.EqualError(t, responses[1].Err, "not here: {}") // JSON also without parameters
	require.Equal(t, status.NotFound, status.CodeOf(responses[1].Err))
	responses[0].Release()
	responses[1].Release()
	require.Contains(t, h.end(), `level=WARN msg="from initialize" model=m instance=m_0 source=model.py:8`)
}

// A child that dies ends its batch with the cause; one that hangs ends with its context.
func TestDeath(t *testing.T) {
	t.Parallel()
	h := newHarness(t, `
import os, sys, time
class TritonPythonModel:
    def execute(self, r):
        print("dying", file=sys.stderr, flush=True)
        os.kill(os.getpid(), 9)
`)
	require.NoError(t, h.load())
	broken := h.instance.(backend.BreakNotifier).Broken()
	_, err := h.run(h.request(tensor.FP32, tensor.Shape{1}, floats(1)))
	require.EqualError(t, err, "Stub process 'm_0' is not healthy. The cause: the process was ended by signal 9 (killed). "+
		"Its last lines on the standard error:\ndying")
	require.ErrorIs(t, err, backend.ErrBroken)
	require.EqualError(t, <-broken, "the process was ended by signal 9 (killed)")
	require.Contains(t, h.logged(), "dying")

	h = newHarness(t, "import time\nclass TritonPythonModel:\n    def execute(self, r): time.sleep(3600)\n")
	require.NoError(t, h.load())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
	var b infer.Batch
	b.Add(r)
	require.ErrorIs(t, h.instance.Execute(ctx, &b), backend.ErrBroken)
	r.Release()
	r.Release()
}

func TestAutoComplete(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a process of Python for each message")
	}
	h := newHarness(t, `
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(c):
        c.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [-1]})
        c.add_input({"name": "B", "data_type": "TYPE_BOOL", "dims": [1], "optional": True})
        c.add_output({"name": "MORE", "data_type": "TYPE_STRING", "dims": [2]})
        c.set_max_batch_size(4)
        c.set_dynamic_batching()
        return c
`)
	require.NoError(t, h.backend.AutoComplete(t.Context(), h.spec))
	c := h.spec.Config
	require.True(t, c.GetInput()[1].GetOptional())
	require.Equal(t, "MORE", c.GetOutput()[1].GetName())
	require.Equal(t, []int64{2}, c.GetOutput()[1].GetDims())
	require.EqualValues(t, 4, c.GetMaxBatchSize())
	require.NotNil(t, c.GetDynamicBatching())

	for source, text := range map[string]string{
		"return 5":                      "auto_complete_config function in model 'm' must return a valid pb.ModelConfig object.",
		"raise ValueError('no')":        "ValueError: no\n\nAt:\n  $(6): auto_complete_config\n",
		"c.add_input({'dims': [1]})":    "ValueError: input in auto-complete-config function for model 'm' is missing 'name' property.",
		"c.add_output({'name': 'OUT'})": "ValueError: output 'OUT' in auto-complete-config function for model 'm' is missing 'data_type' property.",
		"c.add_output({'name': 'OUT', 'data_type': 'TYPE_INT8', 'dims': [1]})": "ValueError: unable to load model 'm', configuration expects datatype TYPE_FP32 for output 'OUT', model provides TYPE_INT8",
	} {
		h := newHarness(t, fmt.Sprintf("class TritonPythonModel:\n    @staticmethod\n    def auto_complete_config(c):\n        %s\n", source))
		err := h.backend.AutoComplete(t.Context(), h.spec)
		require.ErrorContains(t, err, strings.ReplaceAll(text, "$", filepath.Join(h.spec.Dir, "model.py")))
	}
	h = newHarness(t, echo)
	require.NoError(t, h.backend.AutoComplete(t.Context(), h.spec))
	require.Len(t, h.spec.Config.GetOutput(), 1)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := parseSettings(map[string]string{"stub-timeout-seconds": "0"})
	require.EqualError(t, err, "stub-timeout-seconds can't be smaller than or equal to zero.")
	_, err = parseSettings(map[string]string{"start-timeout-seconds": "soon"})
	require.ErrorContains(t, err, "not a number")
	set, err := parseSettings(map[string]string{"stub-timeout-seconds": "9223372036854775807", "shm-default-byte-size": "1048576"})
	require.NoError(t, err)
	require.Greater(t, set.stop, 200*365*24*time.Hour)
	for key, text := range map[string]string{
		"shm-default-byte-size": "shm-default-byte-size can't be smaller than 4 MiBs",
		"shm-growth-byte-size":  "shm-growth-byte-size can't be smaller than or equal to zero.",
		"thread-pool-size":      "thread-pool-size can't be less than 1.",
	} {
		_, err = parseSettings(map[string]string{key: "0"})
		require.EqualError(t, err, text)
	}
	_, err = parseSettings(map[string]string{"shm-region-prefix-name": ""})
	require.EqualError(t, err, "shm-region-prefix-name must at least contain one character.")
}

func TestExecutionEnvironment(t *testing.T) {
	t.Parallel()
	h := newHarness(t, echo)
	set := func(path string) {
		h.spec.Config.Parameters = map[string]*inferencepb.ModelParameter{"EXECUTION_ENV_PATH": {StringValue: path}}
	}
	env := filepath.Join(filepath.Dir(h.spec.Dir), "env")
	require.NoError(t, os.MkdirAll(filepath.Join(env, "bin"), 0o755))
	set("$$TRITON_MODEL_DIRECTORY/env")
	require.EqualError(t, h.load(), "Path "+env+"/bin/activate does not exist. The Python environment should contain an 'activate' script.")
	require.NoError(t, os.WriteFile(filepath.Join(env, "bin", "activate"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(env, "bin", "python3"), []byte("#!/bin/sh\nexec "+interpreter(t)+" \"$@\"\n"), 0o755))
	require.NoError(t, h.load())

	h.spec.Settings["environment-cache-directory"] = t.TempDir()
	out, err := exec.CommandContext(t.Context(), "tar", "-C", env, "-czf", env+".tar.gz", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.RemoveAll(env))
	set("$$TRITON_MODEL_DIRECTORY/env.tar.gz")
	require.NoError(t, h.load())
}
