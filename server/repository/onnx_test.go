package repository

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/onnx"
	"triton/server/repository/state"
)

// TestLoadONNX loads ONNX models and compares the completed configuration, or
// the reason why a model is refused, with what Triton answered; see
// testdata/README.md, also for how to record.
//
//	load NAME [differs]   the input is a graph, "config" and a configuration
//	ours NAME             our answer for a model that differs
func TestLoadONNX(t *testing.T) {
	t.Parallel()
	search := onnx.Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..")}
	if _, err := onnx.Find(search); err != nil {
		t.Skip("needs the ONNX Runtime library: run make onnxruntime or set " + onnx.Environment)
	}
	runtime := onnx.New(search)
	datadriven.Walk(t, "testdata/onnx", func(t *testing.T, path string) {
		answers := map[string]string{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := d.CmdArgs[0].Key
			switch d.Cmd {
			case "ours":
				return answers[name]
			case "load":
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if dir := os.Getenv("TRITON_ONNX_REPOSITORY"); dir != "" && os.Getenv("TRITON_ONNX_HTTP") == "" {
				graphModel(t, dir, name, d.Input)
				return d.Expected
			}
			dir := t.TempDir()
			graphModel(t, dir, name, d.Input)
			ours := loadONNX(t, runtime, dir, name)
			answers[name] = ours
			if addr := os.Getenv("TRITON_ONNX_HTTP"); addr != "" {
				return askTriton(t, addr, name)
			}
			if d.HasArg("differs") {
				require.NotEqual(t, d.Expected, ours, "it does not differ any more")
				return d.Expected
			}
			return ours
		})
	})
}

// askTriton returns the configuration that Triton completed for a model of
// TRITON_ONNX_REPOSITORY.
func askTriton(t *testing.T, addr, name string) string {
	t.Helper()
	ask := func(method, path string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
		require.NoError(t, err)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(b)
	}
	var index []struct{ Name, State, Reason string }
	require.NoError(t, json.Unmarshal([]byte(ask(http.MethodPost, "/v2/repository/index")), &index))
	for _, m := range index {
		switch {
		case m.Name != name:
		case m.State == "READY":
			return ask(http.MethodGet, "/v2/models/"+name+"/config") + "\n"
		default:
			return refusal(m.State, m.Reason, os.Getenv("TRITON_ONNX_REPOSITORY"))
		}
	}
	t.Fatalf("%s has no model %s", addr, name)
	return ""
}

func refusal(state, reason, dir string) string {
	return strings.TrimSpace(state+": "+strings.ReplaceAll(reason, dir, "DIR")) + "\n"
}

func loadONNX(t *testing.T, runtime backend.Backend, dir, name string) string {
	t.Helper()
	r, _, err := open(t, func(o *Options) {
		o.Backends, o.Machine.MinComputeCapability = backend.Set{onnx.Name: runtime}, 6
	}, dir)
	if err != nil {
		require.ErrorIs(t, err, ErrLoad)
	}
	index := r.Index(false).Models
	require.Len(t, index, 1)
	if m := index[0]; m.State != string(state.VersionReady) {
		return refusal(m.State, m.Reason, dir)
	}
	m, err := r.Model(name, "")
	require.NoError(t, err)
	defer m.Release()
	b, err := modelconfig.MarshalJSON(m.Config())
	require.NoError(t, err)
	return string(b) + "\n"
}

// graphModel writes a model directory. The lines before "config" are
//
//	input NAME TYPE DIM...        and output, with dims that are numbers or names
//	default NAME TYPE DIM...      an input with an initializer of zeros
//	weight NAME TYPE DIM... = V   an initializer, of zeros or of INT64 values
//	any NAME                      an output whose type is left to inference
//	node OP IN... -> OUT... [ATTR=INT]
//	ir VERSION
//	file PATH [bytes|from SOURCE] where the model lies, or text in its place
//	none                          there is no model file
func graphModel(t *testing.T, dir, name, text string) {
	t.Helper()
	graph, config, _ := strings.Cut(text, "config")
	f := onnxmodel.File{IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "g"}
	path, bytes := "1/model.onnx", ""
	for line := range strings.Lines(graph) {
		w := strings.Fields(line)
		switch w[0] {
		case "none":
			path = ""
		case "ir":
			n, err := strconv.Atoi(w[1])
			require.NoError(t, err)
			f.IRVersion = int64(n)
		case "file":
			path = w[1]
			if len(w) == 3 {
				bytes = w[2]
			} else if len(w) == 4 {
				b, err := os.ReadFile(filepath.FromSlash(w[3]))
				require.NoError(t, err)
				bytes = string(b)
			}
		default:
			graphLine(t, &f, w)
		}
	}
	model := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Join(model, "1"), 0o755))
	if config = strings.TrimSpace(config); config != "" {
		require.NoError(t, os.WriteFile(filepath.Join(model, "config.pbtxt"), []byte(config+"\n"), 0o644))
	}
	if path == "" {
		return
	}
	path = filepath.Join(model, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if bytes != "" {
		require.NoError(t, os.WriteFile(path, []byte(bytes), 0o644))
		return
	}
	out, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, f.Write(out))
	require.NoError(t, out.Close())
}

func graphLine(t *testing.T, f *onnxmodel.File, w []string) {
	t.Helper()
	switch w[0] {
	case "input":
		f.Inputs = append(f.Inputs, graphValue(t, w[1:]))
	case "output":
		f.Outputs = append(f.Outputs, graphValue(t, w[1:]))
	case "any":
		f.Outputs = append(f.Outputs, onnxmodel.Value{Name: w[1]})
	case "default":
		f.Inputs = append(f.Inputs, graphValue(t, w[1:]))
		f.Weights = append(f.Weights, graphWeight(t, w[1:]))
	case "weight":
		f.Weights = append(f.Weights, graphWeight(t, w[1:]))
	case "node":
		n := onnxmodel.Node{Op: w[1]}
		to := &n.Inputs
		for _, s := range w[2:] {
			key, number, isAttr := strings.Cut(s, "=")
			switch {
			case s == "->":
				to = &n.Outputs
			case isAttr:
				v, err := strconv.Atoi(number)
				require.NoError(t, err)
				n.Attrs = append(n.Attrs, onnxmodel.IntAttr(key, int64(v)))
			default:
				*to = append(*to, s)
			}
		}
		f.Nodes = append(f.Nodes, n)
	default:
		t.Fatalf("unknown line %q", w)
	}
}

func graphValue(t *testing.T, w []string) onnxmodel.Value {
	t.Helper()
	var dims []any
	for _, d := range w[2:] {
		if n, err := strconv.Atoi(d); err == nil {
			dims = append(dims, n)
		} else {
			dims = append(dims, d)
		}
	}
	return onnxmodel.Tensor(w[0], elemType(t, w[1]), dims...)
}

func elemType(t *testing.T, name string) onnxmodel.ElemType {
	t.Helper()
	for e := onnxmodel.ElemType(1); e < 30; e++ {
		if e.String() == name {
			return e
		}
	}
	t.Fatalf("unknown type %s", name)
	return 0
}

func graphWeight(t *testing.T, w []string) onnxmodel.Weight {
	t.Helper()
	words, text, given := strings.Cut(strings.Join(w, " "), " = ")
	w = strings.Fields(words)
	var dims, values []int64
	for _, d := range w[2:] {
		n, err := strconv.ParseInt(d, 10, 64)
		require.NoError(t, err)
		dims = append(dims, n)
	}
	if given {
		for _, v := range strings.Fields(text) {
			n, err := strconv.ParseInt(v, 10, 64)
			require.NoError(t, err)
			values = append(values, n)
		}
		return onnxmodel.Ints(w[0], dims, values...)
	}
	elem := elemType(t, w[1])
	size, err := tensor.Shape(dims).ByteSize(elem.DataType())
	require.NoError(t, err)
	return onnxmodel.Weight{Name: w[0], Elem: elem, Dims: dims, Data: func(w io.Writer) error {
		_, err := fmt.Fprint(w, strings.Repeat("\x00", int(size)))
		return err
	}}
}
