package native

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// form is a form of a backend.
type form struct {
	name  string
	ready error
}

func (form) Load(context.Context, backend.Spec) (backend.Model, error) { return nil, nil }
func (form) AutoComplete(context.Context, backend.Spec) error          { return nil }
func (f form) Ready(*inferencepb.ModelConfig, map[string]string) error { return f.ready }

func TestForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runtime, parameter string
		ready              error
		want, reason       string
	}{
		{want: "engine"},
		{ready: errors.New("no library"), want: "python", reason: "no library"},
		{runtime: "model.py", want: "python"},
		{runtime: "libtriton_mine.so", ready: errors.New("no library"), want: "engine"},
		{parameter: "EXECUTION_ENV_PATH", want: "python", reason: "it has the parameter EXECUTION_ENV_PATH"},
		{parameter: "python_threads", want: "python", reason: "it has the parameter python_threads"},
		{runtime: "libtriton_mine.so", parameter: "python_threads", want: "engine"},
		{parameter: "other", want: "engine"},
	} {
		var text strings.Builder
		config := &inferencepb.ModelConfig{Name: "m", Runtime: c.runtime}
		if c.parameter != "" {
			config.Parameters = map[string]*inferencepb.ModelParameter{c.parameter: {StringValue: "1"}}
		}
		b := New("mine", form{"engine", c.ready}, form{name: "python"})
		got := b.Form(t.Context(), config, nil, slog.New(slog.NewTextHandler(&text, nil)))
		require.Equal(t, c.want, got.(form).name, c)
		if c.reason == "" {
			require.Empty(t, text.String())
		} else {
			require.Contains(t, text.String(), c.reason)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(path string) string {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
		return path
	}
	old, wheel := write("py/lib/python3.9/site-packages/x/libs/libx.so.9"), write("py/lib/python3.11/site-packages/x/libs/libx.so.2")
	python := write("py/bin/python3")
	lib := write("work/lib/libx.so.3")
	named := write("named/libx.so.4")
	mine := library{Name: "X", Backend: "b", Pattern: "libx.so*", Variable: "X_LIBRARY", Package: "x", Inside: "x/libs"}
	alone := Search{System: []string{}}
	for _, c := range []struct {
		search   Search
		settings map[string]string
		want     string
	}{
		{alone, map[string]string{"python-executable": python}, wheel},
		{Search{System: []string{}, Directory: filepath.Join(dir, "work")}, map[string]string{"python-executable": python}, lib},
		{Search{System: []string{filepath.Dir(old)}}, nil, old},
		{alone, map[string]string{"library": named}, named},
		{alone, map[string]string{"library": filepath.Dir(named)}, named},
		{Search{Getenv: func(string) string { return named }, Directory: filepath.Join(dir, "work")}, nil, named},
		{alone, map[string]string{"library": dir}, "the X library given by --backend-config=b,library cannot be used: no libx.so* in $"},
		{Search{Getenv: func(string) string { return "/nosuch" }}, nil, "the X library given by the environment variable X_LIBRARY cannot be used: stat /nosuch: no such file or directory"},
		{
			Search{System: []string{"/nosuch"}},
			map[string]string{"python-executable": "/nosuch/python"},
			`the X library libx.so* is missing: looked in /nosuch; get it with "python3 -m pip install x", or name it with --backend-config=b,library=<path> or X_LIBRARY`,
		},
	} {
		path, err := c.search.find(mine, c.settings)
		if err != nil {
			path = err.Error()
		}
		require.Equal(t, strings.ReplaceAll(c.want, "$", dir), path)
	}
	_, err := Search{System: []string{}}.find(mine, map[string]string{"python-executable": "/nosuch"})
	require.ErrorIs(t, err, backend.ErrNoLibrary)
}

// A virtual environment does not see the packages of the interpreter that it links to.
func TestFindInVirtualEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base := filepath.Join(dir, "base")
	for _, path := range []string{"base/bin", "base/lib/python3.11/site-packages/x", "venv/bin", "link/bin"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, path), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(base, "bin", "python3"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "lib/python3.11/site-packages/x/libx.so"), nil, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "venv", "pyvenv.cfg"), nil, 0o644))
	for _, name := range []string{"venv", "link"} {
		require.NoError(t, os.Symlink(filepath.Join(base, "bin", "python3"), filepath.Join(dir, name, "bin", "python3")))
	}
	find := func(name string) error {
		_, err := Search{System: []string{}}.find(library{Pattern: "libx.so", Inside: "x"}, map[string]string{"python-executable": filepath.Join(dir, name, "bin", "python3")})
		return err
	}
	require.NoError(t, find("link"))
	require.Error(t, find("venv"))
}

func TestComplete(t *testing.T) {
	t.Parallel()
	in := []modelTensor{{"x", tensor.FP32, tensor.Shape{-1, 4}}}
	out := []modelTensor{{"y", tensor.Int64, tensor.Shape{-1}}}
	fixed := []modelTensor{{"y", tensor.Int64, tensor.Shape{1}}}
	for _, c := range []struct {
		name     string
		config   *inferencepb.ModelConfig
		out      []modelTensor
		settings map[string]string
		batch    int32
		dynamic  bool
		dims     [2][]int64
	}{
		{"batches", &inferencepb.ModelConfig{}, out, nil, 4, true, [2][]int64{{4}, {}}},
		{"setting", &inferencepb.ModelConfig{}, out, map[string]string{"default-max-batch-size": "1"}, 1, false, [2][]int64{{4}, {}}},
		{"no batches wanted", &inferencepb.ModelConfig{}, out, map[string]string{"default-max-batch-size": "0"}, 0, false, [2][]int64{{-1, 4}, {-1}}},
		{"cannot batch", &inferencepb.ModelConfig{}, fixed, nil, 0, false, [2][]int64{{-1, 4}, {1}}},
		{"batch size given", &inferencepb.ModelConfig{MaxBatchSize: 2}, out, nil, 2, false, [2][]int64{{4}, {}}},
		{"input given", &inferencepb.ModelConfig{Input: []*inferencepb.ModelInput{{Name: "x", Dims: []int64{-1, 4}}}}, out, nil, 0, false, [2][]int64{{-1, 4}, {-1}}},
	} {
		require.NoError(t, completeConfig(backend.Spec{Config: c.config, Settings: c.settings}, in, c.out), c.name)
		require.Equal(t, c.batch, c.config.MaxBatchSize, c.name)
		require.Equal(t, c.dynamic, c.config.GetDynamicBatching() != nil, c.name)
		require.Equal(t, c.dims[0], c.config.Input[0].Dims, c.name)
		require.Equal(t, c.dims[1], append([]int64{}, c.config.Output[0].Dims...), c.name)
	}
	err := completeConfig(backend.Spec{Config: &inferencepb.ModelConfig{}, Settings: map[string]string{"default-max-batch-size": "x"}}, in, out)
	require.EqualError(t, err, "--backend-config default-max-batch-size=x: use a number from 0")
}
