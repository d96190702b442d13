//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(fakes())
		os.Exit(code)
	}))
}

// engineUnderTest returns the backend over the real library; the test is skipped
// without one.
func engineUnderTest(t testing.TB) *Backend {
	t.Helper()
	search := Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..", "..")}
	if _, err := Find(search); err != nil {
		t.Skip("needs the ONNX Runtime library: run make onnxruntime or set " + Environment)
	}
	return New(search)
}

// world is a loaded model with one instance.
type world struct {
	testing.TB
	spec  backend.Spec
	model backend.Model
	inst  *instance
}

func quiet() *slog.Logger {
	return slog.New(slog.DiscardHandler)
}

// specOf writes the graph to disk and makes the configuration that matches it.
func specOf(t testing.TB, f *onnxmodel.File, batch int32) backend.Spec {
	t.Helper()
	if f.IRVersion == 0 {
		f.IRVersion = 8
	}
	if f.Opsets == nil {
		f.Opsets = []onnxmodel.Opset{{Version: 17}}
	}
	if f.Graph == "" {
		f.Graph = "g"
	}
	dir := t.TempDir()
	w, err := os.Create(filepath.Join(dir, "model.onnx"))
	require.NoError(t, err)
	require.NoError(t, f.Write(w))
	require.NoError(t, w.Close())
	cfg := &inferencepb.ModelConfig{Name: "m", Backend: Name, MaxBatchSize: batch}
	for _, v := range f.Inputs {
		cfg.Input = append(cfg.Input, &inferencepb.ModelInput{Name: v.Name, DataType: protoType(v), Dims: configDims(v, batch)})
	}
	for _, v := range f.Outputs {
		cfg.Output = append(cfg.Output, &inferencepb.ModelOutput{Name: v.Name, DataType: protoType(v), Dims: configDims(v, batch)})
	}
	pool := tensor.NewPool()
	t.Cleanup(func() { require.Zero(t, pool.Outstanding(), "buffers not released") })
	return backend.Spec{Name: "m", Version: 1, Config: cfg, Dir: dir, File: "model.onnx", Pool: pool, Log: quiet(), CPUs: 2}
}

func protoType(v onnxmodel.Value) inferencepb.DataType {
	return inferencepb.DataType(v.Elem.DataType())
}

func configDims(v onnxmodel.Value, batch int32) []int64 {
	if batch > 0 {
		return v.Dims[1:]
	}
	if len(v.Dims) == 0 {
		return []int64{1}
	}
	return v.Dims
}

func load(t testing.TB, spec backend.Spec) *world {
	t.Helper()
	b := engineUnderTest(t)
	m, err := b.Load(context.Background(), spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	w := &world{TB: t, spec: spec, model: m}
	w.inst = w.instance()
	return w
}

func (w *world) instance() *instance {
	w.Helper()
	i, err := w.model.NewInstance(context.Background(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 1})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, i.Close()) })
	return i.(*instance)
}

// request makes a request of these tensors, with memory from the pool.
func (w *world) request(batch int, inputs ...input) *infer.Request {
	r := infer.NewRequest()
	r.Unary()
	r.Batch, r.Pool = batch, w.spec.Pool
	for _, in := range inputs {
		t := r.AddInput()
		t.Name, t.DataType = in.name, in.data
		t.Shape = append(t.Shape[:0], in.shape...)
		buf := w.spec.Pool.Get(len(in.bytes))
		copy(buf.Bytes(), in.bytes)
		t.Data = tensor.NewData(buf)
	}
	return r
}

type input struct {
	name  string
	data  tensor.DataType
	shape tensor.Shape
	bytes []byte
}

// infer runs one batch of these requests and returns their responses.
func (w *world) infer(i *instance, rs ...*infer.Request) ([]*infer.Response, error) {
	w.Helper()
	var b infer.Batch
	for _, r := range rs {
		b.Add(r)
	}
	err := i.Execute(context.Background(), &b)
	var out []*infer.Response
	for _, r := range rs {
		if err == nil {
			resp, err := r.Wait(context.Background())
			require.NoError(w, err)
			out = append(out, resp)
		}
		r.Release()
		r.Release()
	}
	return out, err
}

func bytesOf(t testing.TB, resp *infer.Response, output string) []byte {
	t.Helper()
	out := resp.Output(output)
	require.NotNil(t, out, "output %s", output)
	b := make([]byte, out.Data.Len())
	out.Data.CopyTo(b)
	return b
}

func simple() *onnxmodel.File {
	pair := func(a, b string) []onnxmodel.Value {
		return []onnxmodel.Value{
			onnxmodel.Tensor(a, onnxmodel.Int32, "batch", 16), onnxmodel.Tensor(b, onnxmodel.Int32, "batch", 16),
		}
	}
	return &onnxmodel.File{
		Nodes: []onnxmodel.Node{
			{Op: "Add", Inputs: []string{"INPUT0", "INPUT1"}, Outputs: []string{"OUTPUT0"}},
			{Op: "Sub", Inputs: []string{"INPUT0", "INPUT1"}, Outputs: []string{"OUTPUT1"}},
		},
		Inputs: pair("INPUT0", "INPUT1"), Outputs: pair("OUTPUT0", "OUTPUT1"),
	}
}

// logLines collects what a model logs.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
