//go:build cgo && (linux || darwin)

package onnx

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
)

// build compiles a shared library for the test.
func build(t *testing.T, source string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler named cc")
	}
	dir := t.TempDir()
	file, lib := filepath.Join(dir, "lib.c"), filepath.Join(dir, "lib.so")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", lib, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return lib
}

func TestUnusableLibraries(t *testing.T) {
	t.Parallel()
	old := build(t, `
		static const void *api(unsigned v) { static int table; return v <= 16 ? &table : 0; }
		static const char *version(void) { return "1.16.3"; }
		struct { const void *(*api)(unsigned); const char *(*version)(void); } base = {api, version};
		void *OrtGetApiBase(void) { return &base; }`)
	_, err := openLibrary(old)
	require.EqualError(t, err, "the ONNX Runtime library '"+old+"' is version 1.16.3; 1.17 or newer is needed")
	require.Equal(t, status.Unavailable, status.CodeOf(err))

	_, err = openLibrary(build(t, "int other;"))
	require.ErrorContains(t, err, "unable to load shared library: ")
	require.ErrorContains(t, err, "OrtGetApiBase")

	text := filepath.Join(t.TempDir(), "libonnxruntime.so")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	_, err = openLibrary(text)
	require.ErrorContains(t, err, "unable to load shared library: "+text)
}

func TestMissingLibrary(t *testing.T) {
	t.Parallel()
	spec := specOf(t, simple(), 8)
	spec.Settings = map[string]string{"library": filepath.Join(t.TempDir(), "none.so")}
	_, err := New(Search{}).Load(context.Background(), spec)
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.ErrorContains(t, err, "none.so' given by the setting library cannot be used: ")

	spec = with(t, specOf(t, simple(), 8), param("onnxruntime_library", "./none.so"))
	_, err = New(Search{}).Load(context.Background(), spec)
	require.ErrorContains(t, err, "none.so' given by the parameter onnxruntime_library cannot be used: ")
}

func TestSecondLibrary(t *testing.T) {
	t.Parallel()
	load(t, specOf(t, simple(), 8))
	other := build(t, "int other;")
	spec := specOf(t, simple(), 8)
	spec.Settings = map[string]string{"library": other}
	_, err := New(Search{}).Load(context.Background(), spec)
	require.ErrorContains(t, err, "unable to load shared library: ")
	require.ErrorContains(t, err, "OrtGetApiBase")
}

const globalPoolChild = "TRITON_TEST_GLOBAL_POOL"

// TestGlobalPool runs in a process of its own, because the environment with its
// pools is made once per process.
func TestGlobalPool(t *testing.T) {
	if os.Getenv(globalPoolChild) == "" {
		t.Parallel()
		engineUnderTest(t)
		child := exec.Command(os.Args[0], "-test.run=^TestGlobalPool$", "-test.v")
		child.Env = append(os.Environ(), globalPoolChild+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	spec := specOf(t, simple(), 8)
	spec.Settings = map[string]string{"enable-global-threadpool": "on", "intra_op_thread_count": "2"}
	w := load(t, spec)
	require.True(t, w.model.(*model).library.globalPool)
	out, err := w.infer(w.inst, simpleRequest(w, 2, 4))
	require.NoError(t, err)
	require.Equal(t, ramp(2, 9, 4), bytesOf(t, out[0], "OUTPUT0"))
	out[0].Release()
}

func TestPoolSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings map[string]string
		want     poolConfig
		err      string
	}{
		{nil, poolConfig{}, ""},
		{map[string]string{"intra_op_thread_count": "3"}, poolConfig{}, ""},
		{map[string]string{"enable-global-threadpool": "1", "intra_op_thread_count": "3", "inter_op_thread_count": "4"}, poolConfig{true, 3, 4}, ""},
		{map[string]string{"enable-global-threadpool": "x"}, poolConfig{}, "failed to convert 'x' to boolean"},
		{map[string]string{"enable-global-threadpool": "1", "intra_op_thread_count": "y"}, poolConfig{}, "failed to convert 'y' to integral number"},
	} {
		got, err := poolSettings(c.settings)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestAutoComplete(t *testing.T) {
	t.Parallel()
	spec := specOf(t, simple(), 0)
	spec.Config.Input, spec.Config.Output, spec.Config.MaxBatchSize = nil, nil, 0
	spec.Settings = map[string]string{"default-max-batch-size": "6"}
	require.NoError(t, New(Search{}).AutoComplete(t.Context(), spec), "no library is needed")
	require.EqualValues(t, 6, spec.Config.MaxBatchSize)
	want := backend.NewSignature(specOf(t, simple(), 6).Config)
	slices.Reverse(want.Inputs) // in Triton's order
	slices.Reverse(want.Outputs)
	require.Equal(t, want, backend.NewSignature(spec.Config))
	load(t, spec)

	spec.Config.Output = nil
	require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "model.onnx"), []byte("\x0a\xff"), 0o600))
	require.ErrorContains(t, engineUnderTest(t).AutoComplete(t.Context(), spec), "failed:Protobuf parsing failed.")
	require.NoError(t, os.Remove(filepath.Join(spec.Dir, "model.onnx")))
	err := New(Search{}).AutoComplete(t.Context(), spec)
	require.ErrorContains(t, err, "failed to stat file ")
	require.Equal(t, status.Internal, status.CodeOf(err))
}
