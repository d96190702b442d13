package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

const evaluating = `
import numpy as np
class TritonPythonModel:
    def initialize(self, args):
        self.kept = {}
        if pb_utils.is_model_ready("other"): raise ValueError("it is not loaded")
        try: pb_utils.load_model(args["model_name"])
        except pb_utils.TritonModelException as e: self.itself = e
    def execute(self, requests):
        out = []
        for r in requests:
            try: v = eval(r.inputs()[0].as_numpy().flat[0].decode(), globals(), {"self": self, "k": self.kept})
            except Exception as e: v = f"{type(e).__name__}: {e}"
            out.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([[str(v)]], dtype=object))]))
        return out
`

// A Python model loads and unloads others, and its metrics are on the metrics endpoint.
// The texts are NVIDIA's, recorded from its server.
func TestPythonControlsModels(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts Python processes")
	}
	dir := t.TempDir()
	writePython(t, dir, "driver", "", evaluating)
	writePython(t, dir, "other", "", doubling)
	path := filepath.Join(dir, "driver", "config.pbtxt")
	config, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(config, []byte("TYPE_FP32"), []byte("TYPE_STRING")), 0o644))
	s := startPython(t, dir, servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, nil
	}))
	c := newClient(t)
	code, text, err := post(c, "http://"+s.HTTP+"/v2/repository/models/driver/load", "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, text)
	eval := func(expression string) string {
		body, err := json.Marshal(map[string]any{"inputs": []any{map[string]any{"name": "IN", "datatype": "BYTES", "shape": []int{1, 1}, "data": []string{expression}}}})
		require.NoError(t, err)
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/driver/infer", string(body))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
		var answer struct{ Outputs []struct{ Data []string } }
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		return answer.Outputs[0].Data[0]
	}
	const failed = "Failed to process the request for model 'driver_0', message: "
	for _, x := range [][2]string{
		{"self.itself", "Failed to load model: " + failed + "model 'driver' cannot load itself while it is loading"},
		{"pb_utils.is_model_ready('other')", "False"},
		{"pb_utils.is_model_ready('none')", "False"},
		{"pb_utils.load_model(model_name='other')", "None"},
		{"pb_utils.is_model_ready('other'), pb_utils.is_model_ready('other', '1'), pb_utils.is_model_ready(model_name='other', model_version='7')", "(True, True, False)"},
		{"pb_utils.is_model_ready('other', 'x')", "TritonModelException: Failed to check model readiness: " + failed + "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0"},
		{"pb_utils.is_model_ready('other', '-1')", "TritonModelException: Failed to check model readiness: " + failed + "failed to get model version from specified version string '-1', version should be an integral value > 0"},
		{"pb_utils.unload_model('other')", "None"},
		{"pb_utils.is_model_ready('other')", "False"},
		{"pb_utils.load_model('none')", "TritonModelException: Failed to load model: " + failed + "failed to load 'none', failed to poll from model repository"},
		{"pb_utils.load_model('')", "TritonModelException: Failed to load model: " + failed + "Model name cannot be empty. Please enter a valid name to deploy."},
		{"pb_utils.load_model(model_name='other', config='nonsense')", "TritonModelException: Failed to load model: " + failed + "failed to load 'other', failed to poll from model repository: Invalid config override: Unexpected token. (line 1, column 1): put text in quotes"},
		{"pb_utils.load_model('other', files={'file:1/model.py': b'x'})", "TritonModelException: Failed to load model: " + failed + "failed to load 'other', failed to poll from model repository: Load parameter 'config' must be specified for model file override"},
		{`pb_utils.load_model('other', '{"backend": "python", "max_batch_size": 0}', {"file:1/model.py": b"x = 1"})`, "TritonModelException: Failed to load model: " + failed + "load failed for model 'other': version 1 is at UNAVAILABLE state: Internal: AttributeError: module '1.model' has no attribute 'TritonPythonModel';\n"},
		{"pb_utils.load_model('other', files={'1/model.py': 'text'})", "TypeError: Object of type 'str' is not an instance of 'bytes'"},
		{"pb_utils.load_model('other', files=5)", "TritonModelException: failed to load model 'other', files should be a dictionary of file paths and file contents"},
		{"pb_utils.unload_model('none', True)", "None"},
		{`pb_utils.load_model('new', '{"backend": "python", "input": [], "output": [{"name": "OUT", "data_type": "TYPE_FP32", "dims": [1]}]}', {"file:1/model.py": b"class TritonPythonModel: pass"})`, "None"},
		{"pb_utils.is_model_ready('new')", "True"},
		{"k.update(f=pb_utils.MetricFamily('my_family', 'mine', pb_utils.MetricFamily.GAUGE))", "None"},
		{"k.update(m=k['f'].Metric({'a': 'b'}))", "None"},
		{"k['m'].set(1.5)", "None"},
		{"k['m'].value()", "1.5"},
	} {
		require.Equal(t, x[1], eval(x[0]), x[0])
	}
	_, page := get(t, c, "http://"+s.Metrics+"/metrics")
	require.Contains(t, page, "# HELP my_family mine\n# TYPE my_family gauge\nmy_family{a=\"b\"} 1.5\n")
}

const loadingInInitialize = `
class TritonPythonModel:
    def initialize(self, args):
        pb_utils.load_model({"a": "b", "b": "a"}[args["model_name"]])
    def execute(self, requests): pass
`

// Models that load each other in initialize are refused: they would wait for ever.
func TestPythonModelsLoadEachOther(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts Python processes")
	}
	dir := t.TempDir()
	writePython(t, dir, "a", "", loadingInInitialize)
	writePython(t, dir, "b", "", loadingInInitialize)
	s := startPython(t, dir, servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup, o.LoadThreads = repository.ControlExplicit, nil, 1
	}))
	code, text, err := post(newClient(t), "http://"+s.HTTP+"/v2/repository/models/a/load", "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, code, text)
	require.Contains(t, text, "model 'a' is being loaded or unloaded, and that waits for this call")
}
