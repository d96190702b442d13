package example_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/pkg/sharedtest"
	"triton/pkg/tensor"
	"triton/repo/example"
)

func write(t *testing.T, o example.Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	require.NoError(t, example.Write(t.Context(), dir, o))
	return dir
}

// sums returns the SHA-256 of every file under dir.
func sums(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, hex.EncodeToString(h.Sum(nil))+"  "+filepath.ToSlash(name))
		return err
	}))
	return all
}

// The bytes are part of the contract: measurements on two machines compare
// only if the models are the same.
func TestBytesAreGolden(t *testing.T) {
	t.Parallel()
	all := sums(t, write(t, example.Options{Seed: example.DefaultSeed}))
	pipeline := filepath.Join(write(t, example.Options{Seed: example.DefaultSeed, Pipeline: true}), "bert_model", "1")
	for _, line := range sums(t, pipeline) {
		all = append(all, strings.Replace(line, "  ", "  --pipeline bert_model/1/", 1))
	}
	got := strings.Join(all, "\n") + "\n"
	golden := filepath.Join("testdata", "sha256.golden")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestSeedAndVersionChangeWeights(t *testing.T) {
	t.Parallel()
	o := example.Options{Seed: 1, Models: []string{"text_classifier"}}
	one := sums(t, write(t, o))
	require.Len(t, one, 3)
	require.NotEqual(t, strings.Fields(one[0])[0], strings.Fields(one[1])[0], "versions differ")
	o.Seed = 2
	two := sums(t, write(t, o))
	require.NotEqual(t, one[0], two[0])
	require.Equal(t, one[2], two[2], "the configuration does not depend on the seed")
}

// Models that do not load on a machine without a GPU are written by name only.
func TestModelsForAGPUAreOptional(t *testing.T) {
	t.Parallel()
	require.NoDirExists(t, filepath.Join(write(t, example.Options{}), "distributed_addsub"))
	require.DirExists(t, filepath.Join(write(t, example.Options{Models: []string{"distributed_addsub"}}), "distributed_addsub"))
}

func TestResNet50Size(t *testing.T) {
	t.Parallel()
	dir := write(t, example.Options{Models: []string{"resnet50"}})
	m, err := onnxmodel.ReadFile(filepath.Join(dir, "resnet50", "1", "model.onnx"))
	require.NoError(t, err)
	// 53 normalizations keep a running mean and variance beside the 25,557,032
	// trained parameters.
	require.Equal(t, int64(25_557_032+2*26_560), m.Parameters)
	require.Equal(t, []int64{-1, 3, 224, 224}, m.Inputs[0].Dims)
	require.Equal(t, "batch", m.Inputs[0].Symbols[0])
}

// config.pbtxt and the graph must agree.
func TestConfigsFitGraphs(t *testing.T) {
	t.Parallel()
	names := slices.DeleteFunc(example.Names(), func(n string) bool { return n == "resnet50" })
	require.Len(t, names, 9+len(tensor.DataTypes())+9)
	configsFit(t, write(t, example.Options{Models: example.Names()}), example.Names())
	configsFit(t, write(t, example.Options{Pipeline: true}), []string{"tokenizer", "bert_model", "postprocessor", "ensemble_pipeline"})
}

func configsFit(t *testing.T, dir string, names []string) {
	t.Helper()
	for _, name := range names {
		var config inferencepb.ModelConfig
		text, err := os.ReadFile(filepath.Join(dir, name, "config.pbtxt"))
		require.NoError(t, err)
		require.NoError(t, prototext.Unmarshal(text, &config), name)
		require.Equal(t, name, config.GetName())
		if config.GetBackend() != "onnxruntime" {
			require.DirExists(t, filepath.Join(dir, name, "1"))
			continue
		}
		require.Positive(t, config.GetMaxBatchSize())
		versions, err := filepath.Glob(filepath.Join(dir, name, "*", "model.onnx"))
		require.NoError(t, err)
		require.NotEmpty(t, versions)
		for _, path := range versions {
			m, err := onnxmodel.ReadFile(path)
			require.NoError(t, err)
			s := config.GetSequenceBatching()
			require.Len(t, m.Inputs, len(config.GetInput())+len(config.GetBatchInput())+len(s.GetControlInput())+len(s.GetState()))
			require.Len(t, m.Outputs, len(config.GetOutput())+len(s.GetState()))
			for i, in := range config.GetInput() {
				dims := in.GetDims()
				if in.GetAllowRaggedBatch() {
					dims = nil // all items in one row
				}
				fits(t, m.Inputs[i], in.GetName(), in.GetDataType(), dims)
			}
			for i, out := range config.GetOutput() {
				dims := out.GetDims()
				for _, b := range config.GetBatchOutput() {
					if slices.Contains(b.GetTargetName(), out.GetName()) {
						dims = nil
					}
				}
				fits(t, m.Outputs[i], out.GetName(), out.GetDataType(), dims)
			}
		}
	}
}

func fits(t *testing.T, v onnxmodel.Value, name string, d inferencepb.DataType, dims []int64) {
	t.Helper()
	require.Equal(t, name, v.Name)
	require.Equal(t, int(d), int(v.Elem.DataType()))
	require.Equal(t, append([]int64{-1}, dims...), v.Dims)
}

func TestExistingModelsAreKept(t *testing.T) {
	t.Parallel()
	o := example.Options{Models: []string{"simple", "identity_fp32"}}
	dir := write(t, o)
	mine := filepath.Join(dir, "simple", "mine.txt")
	require.NoError(t, os.WriteFile(mine, nil, 0o600))
	before := sums(t, dir)

	err := example.Write(t.Context(), dir, example.Options{})
	var exists *example.ExistsError
	require.ErrorAs(t, err, &exists)
	require.Equal(t, []string{"simple", "identity_fp32"}, exists.Models)
	require.EqualError(t, err, dir+" already has simple, identity_fp32; nothing was written")
	require.Equal(t, before, sums(t, dir))
	exists.Models = example.Names()
	require.ErrorContains(t, exists, "already has simple, simple_string, text_classifier and "+strconv.Itoa(len(exists.Models)-3)+" more")

	o.Force = true
	require.NoError(t, example.Write(t.Context(), dir, o))
	require.NoFileExists(t, mine)
	require.Len(t, sums(t, dir), len(before)-1)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no staging folder stays")
}

func TestCancelledWriteLeavesNoHalfModel(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	var written []string
	err := example.Write(ctx, dir, example.Options{Written: func(model string, n int64) {
		require.Positive(t, n)
		if written = append(written, model); len(written) == 2 {
			cancel(reason)
		}
	}})
	require.ErrorIs(t, err, reason)
	require.ErrorContains(t, err, "write model text_classifier")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	require.Equal(t, written, left)
}

// A model that calls others is written with them.
func TestCalledModelsAreWritten(t *testing.T) {
	t.Parallel()
	for _, o := range []example.Options{
		{Models: []string{"text_pipeline"}},
		{Models: []string{"ensemble_pipeline"}, Pipeline: true},
	} {
		entries, err := os.ReadDir(write(t, o))
		require.NoError(t, err)
		require.Len(t, entries, 4)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := example.Write(t.Context(), dir, example.Options{Pipeline: true, Trained: true})
	require.EqualError(t, err, "the pipeline and the trained models are two sets: write them one after the other")
	err = example.Write(t.Context(), dir, example.Options{Models: []string{"ensemble_pipeline"}})
	require.ErrorContains(t, err, `there is no example model "ensemble_pipeline"`)
	err = example.Write(t.Context(), dir, example.Options{Models: []string{"resnet"}})
	require.ErrorContains(t, err, `there is no example model "resnet"; the models are simple, simple_string`)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, example.Write(t.Context(), file, example.Options{}))
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = example.Write(context.Background(), dir, example.Options{
		Seed:    example.DefaultSeed,
		Models:  []string{"simple"},
		Written: func(model string, _ int64) { fmt.Println("wrote", model) },
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: wrote simple
}
