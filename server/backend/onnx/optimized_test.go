//go:build cgo && (linux || darwin)

package onnx

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// doubled multiplies by a matrix that has 2 in its diagonal, with operators that an optimization
// folds into one.
func doubled(n int64) *onnxmodel.File {
	f := identity(onnxmodel.Float, "batch", n)
	weights := make([]float32, n*n)
	for i := range n {
		weights[i*n+i] = 2
	}
	f.Weights = append(f.Weights, onnxmodel.Floats("w", []int64{n, n}, weights...), onnxmodel.Floats("zero", []int64{n}, make([]float32, n)...))
	f.Nodes = []onnxmodel.Node{
		{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"x1"}},
		{Op: "MatMul", Inputs: []string{"x1", "w"}, Outputs: []string{"x2"}},
		{Op: "Add", Inputs: []string{"x2", "zero"}, Outputs: []string{"y"}},
	}
	return f
}

func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

// double runs the model that doubled makes.
func (w *world) double(n int) {
	w.Helper()
	in, want := make([]float32, n), make([]float32, n)
	for i := range in {
		in[i], want[i] = float32(i), float32(2*i)
	}
	out, err := w.infer(w.inst, w.request(1, input{"x", tensor.FP32, tensor.Shape{1, int64(n)}, floats(in...)}))
	require.NoError(w, err)
	require.Equal(w, floats(want...), bytesOf(w, out[0], "y"))
	out[0].Release()
}

// kept returns the files of the kept optimized models.
func kept(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*"))
	require.NoError(t, err)
	hidden, err := filepath.Glob(filepath.Join(dir, "*", "*", ".new-*"))
	require.NoError(t, err)
	require.Empty(t, hidden, "unfinished files")
	return files
}

func TestOptimizedModelIsKept(t *testing.T) {
	t.Parallel()
	dir, logged := t.TempDir(), &logLines{}
	spec := specOf(t, doubled(64), 8)
	spec.Settings, spec.Log = map[string]string{"optimized-model-directory": dir}, logged.logger()
	load(t, spec).double(64)
	first := kept(t, dir)
	require.Len(t, first, 2, "the model and its weights")
	require.Equal(t, filepath.Join(dir, "m", "1"), filepath.Dir(filepath.Dir(first[0])))
	graph, err := onnxmodel.ReadFile(first[0])
	require.NoError(t, err)
	require.Equal(t, "y", graph.Outputs[0].Name)
	require.NotContains(t, logged.String(), "of an earlier load")

	load(t, spec).double(64)
	require.Contains(t, logged.String(), "the optimized model of an earlier load is used")

	// Another content, or other options, make another model, which replaces the first.
	for _, change := range []func(){
		func() { spec = with(t, spec, `optimization { graph { level: 1 } }`) },
		func() { require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "weights.bin"), nil, 0o600)) },
		func() {
			require.NoError(t, os.MkdirAll(filepath.Join(spec.Dir, "data"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "data", "weights.bin"), []byte("old"), 0o600))
		},
		func() { // its folder does not change
			require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "data", "weights.bin"), []byte("new weights"), 0o600))
		},
		func() {
			w, err := os.OpenFile(filepath.Join(spec.Dir, "model.onnx"), os.O_TRUNC|os.O_WRONLY, 0)
			require.NoError(t, err)
			f := doubled(64)
			f.IRVersion, f.Opsets, f.Graph = 8, []onnxmodel.Opset{{Version: 17}}, "renamed"
			require.NoError(t, f.Write(w))
			require.NoError(t, w.Close())
		},
	} {
		change()
		before := kept(t, dir)
		load(t, spec).double(64)
		after := kept(t, dir)
		require.Len(t, after, 2)
		require.NotEqual(t, before, after)
	}

	// A file that was damaged is made again.
	require.NoError(t, os.WriteFile(kept(t, dir)[0], []byte("no model"), 0o600))
	load(t, spec).double(64)
	require.Contains(t, logged.String(), "cannot be opened and is made again")
	_, err = onnxmodel.ReadFile(kept(t, dir)[0])
	require.NoError(t, err)
}

// TestOptimizedModelIsKeptOnce: loads that write the same model at the same time do not disturb each
// other, and what an earlier process left unfinished is removed.
func TestOptimizedModelIsKeptOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := specOf(t, doubled(64), 8)
	spec.Settings = map[string]string{"optimized-model-directory": dir}
	old, fresh := filepath.Join(dir, "m", "1", ".new-old"), filepath.Join(dir, "m", "1", ".new-fresh")
	require.NoError(t, os.MkdirAll(old, 0o700))
	require.NoError(t, os.MkdirAll(fresh, 0o700))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			m, err := engineUnderTest(t).Load(context.Background(), spec)
			if !assert.NoError(t, err) {
				return
			}
			i, err := m.NewInstance(context.Background(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 1})
			if assert.NoError(t, err) {
				assert.NoError(t, i.Close())
			}
			assert.NoError(t, m.Close())
		})
	}
	all.Wait()
	require.NoDirExists(t, old)
	require.NoError(t, os.Remove(fresh))
	require.Len(t, kept(t, dir), 2)
	load(t, spec).double(64)
}

func TestOptimizedModelIsNotKept(t *testing.T) {
	t.Parallel()
	dir, logged := t.TempDir(), &logLines{}
	settings := map[string]string{"optimized-model-directory": dir}
	for _, text := range []string{param("onnxruntime_optimized_model", "false"), `optimization { graph { level: 2 } }`} {
		spec := with(t, specOf(t, doubled(8), 8), text)
		spec.Settings = settings
		load(t, spec).double(8)
		require.Empty(t, kept(t, dir))
	}
	// A folder that cannot be written stops no model.
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	spec := specOf(t, doubled(8), 8)
	spec.Settings, spec.Log = map[string]string{"optimized-model-directory": file}, logged.logger()
	load(t, spec).double(8)
	require.Contains(t, logged.String(), "the optimized model is not kept")
}

func TestProfile(t *testing.T) {
	t.Parallel()
	dir, logged := filepath.Join(t.TempDir(), "profiles"), &logLines{}
	spec := with(t, specOf(t, doubled(8), 8), param("onnxruntime_profile", "true"))
	require.ErrorContains(t, loadError(t, spec, inferencepb.ModelInstanceGroup_KIND_CPU),
		"needs a folder for profiles: start the server with --backend-config onnxruntime,profile-directory=<folder>")
	spec.Settings, spec.Log = map[string]string{"profile-directory": dir}, logged.logger()
	m, err := engineUnderTest(t).Load(context.Background(), spec)
	require.NoError(t, err)
	i, err := m.NewInstance(context.Background(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 1})
	require.NoError(t, err)
	(&world{TB: t, spec: spec, model: m, inst: i.(*instance)}).double(8)
	require.NoError(t, i.Close())
	require.NoError(t, m.Close())
	files, err := filepath.Glob(filepath.Join(dir, "m-1-1_*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(bytes.TrimSpace(text), []byte("]")), "complete when the model is unloaded")
	require.Contains(t, string(text), "kernel_time")
	require.Contains(t, logged.String(), files[0])
}

func TestReader(t *testing.T) {
	t.Parallel()
	engineUnderTest(t)
	search := Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..", "..")}
	flip := func(b []byte) []byte {
		out := bytes.Clone(b)
		for i := range out {
			out[i] ^= 0x5a
		}
		return out
	}
	spec := specOf(t, doubled(8), 8)
	path := filepath.Join(spec.Dir, "model.onnx")
	plain, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, flip(plain), 0o600))
	dir := t.TempDir()
	spec.Settings = map[string]string{"optimized-model-directory": dir}

	b := NewWithReader(search, func(path string) ([]byte, error) {
		b, err := os.ReadFile(path)
		return flip(b), err
	})
	bare := spec
	bare.Config = &inferencepb.ModelConfig{Name: "m", Backend: Name}
	require.NoError(t, b.AutoComplete(t.Context(), bare))
	require.Equal(t, "x", bare.Config.Input[0].Name)
	m, err := b.Load(t.Context(), spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	w := &world{TB: t, spec: spec, model: m}
	w.inst = w.instance()
	w.double(8)
	require.Empty(t, kept(t, dir), "what was secret is not written")

	failing := NewWithReader(search, func(string) ([]byte, error) { return nil, os.ErrPermission })
	m, err = failing.Load(t.Context(), spec)
	require.NoError(t, err)
	_, err = m.NewInstance(t.Context(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: 1})
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "reading the model file '"+path+"'")
	require.NoError(t, m.Close())
}
