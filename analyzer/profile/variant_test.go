package profile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

func parse(t *testing.T, text string) *inferencepb.ModelConfig {
	t.Helper()
	c, err := modelconfig.Parse("", []byte(text))
	require.NoError(t, err)
	return c.ModelConfig
}

// A minimal file is completed, so that the search can batch its model; what the user wrote stays, and
// what depends on the machine stays open.
func TestComplete(t *testing.T) {
	t.Parallel()
	served := parse(t, `name: "m" backend: "onnxruntime" platform: "onnxruntime_onnx" max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }
instance_group { name: "m_0" count: 1 kind: KIND_CPU } default_model_filename: "model.onnx"
dynamic_batching { preferred_batch_size: 4 }`)
	for name, c := range map[string]struct{ written, want string }{
		"minimal": {`name: "m" backend: "onnxruntime"`, `name: "m" backend: "onnxruntime" max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } dynamic_batching { }`},
		"own values": {
			`name: "m" platform: "onnxruntime_onnx" max_batch_size: 2 dynamic_batching { preferred_batch_size: 2 } instance_group { count: 2 }`,
			`name: "m" platform: "onnxruntime_onnx" max_batch_size: 2 dynamic_batching { preferred_batch_size: 2 } instance_group { count: 2 }
input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }`,
		},
	} {
		got := completeConfig(parse(t, c.written), served)
		assert.True(t, proto.Equal(parse(t, c.want), got), "%s: %v", name, got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := newVariantNames()
	m, o := parse(t, `name: "m" max_batch_size: 4`), parse(t, `name: "o"`)
	name := func(c *inferencepb.ModelConfig, p trial.Patch, composing ...trial.Variant) string {
		v, err := n.Variant(c, p, composing)
		require.NoError(t, err)
		require.Equal(t, c.GetName(), v.Config.GetName())
		return v.Name
	}
	assert.Equal(t, "m_config_default", name(m, nil))
	assert.Equal(t, "m_config_0", name(m, trial.Patch{"max_batch_size": 8}))
	assert.Equal(t, "m_config_1", name(m, trial.Patch{"max_batch_size": 16}))
	assert.Equal(t, "o_config_0", name(o, trial.Patch{"max_batch_size": 8}), "models are counted apart")
	assert.Equal(t, "m_config_0", name(m, trial.Patch{"max_batch_size": int64(8)}), "the same configuration")
	assert.Equal(t, "m_config_2", name(m, trial.Patch{"max_batch_size": 4}), "only a variant without changes is the default")

	// The names survive a checkpoint.
	text, err := json.MarshalIndent(n, "", "  ")
	require.NoError(t, err)
	n = nil
	require.NoError(t, json.Unmarshal(text, &n))
	assert.Equal(t, "m_config_1", name(m, trial.Patch{"max_batch_size": 16}))
	assert.Equal(t, "m_config_3", name(m, trial.Patch{"max_batch_size": 32}))
	assert.Equal(t, "m", modelOf("m_config_3"))
	assert.Equal(t, "m", modelOf("m_config_default"))
	assert.Equal(t, "my_config_model", modelOf("my_config_model_config_0"), "the model's own name may have the word")
	assert.Equal(t, "m", modelOf("m"))
}

// TestNamesOfEnsembles: ensembles with different variants have different names, also if one of these is a default
// variant.
func TestNamesOfEnsembles(t *testing.T) {
	t.Parallel()
	n := newVariantNames()
	e := parse(t, `name: "e" platform: "ensemble" ensemble_scheduling { step { model_name: "a" model_version: -1 } }`)
	variant := func(model string, p trial.Patch) trial.Variant {
		v, err := n.Variant(parse(t, `name: "`+model+`"`), p, nil)
		require.NoError(t, err)
		return v
	}
	name := func(composing ...trial.Variant) string {
		v, err := n.Variant(e, nil, composing)
		require.NoError(t, err)
		return v.Name
	}
	change := trial.Patch{"max_batch_size": 2}
	a, b := variant("a", nil), variant("b", nil)
	assert.Equal(t, "e_config_default", name(a, b))
	assert.Equal(t, "e_config_0", name(variant("a", change), b))
	assert.Equal(t, "e_config_1", name(a, variant("b", change)))
	assert.Equal(t, "e_config_0", name(variant("a", change), b))
}

func TestCPUOnly(t *testing.T) {
	t.Parallel()
	n := newVariantNames()
	for config, want := range map[string]bool{
		`name: "m"`: false,
		`name: "m" instance_group { kind: KIND_CPU }`:                                   true,
		`name: "m" instance_group { kind: KIND_CPU } instance_group { kind: KIND_GPU }`: false,
	} {
		v, err := n.Variant(parse(t, config), nil, nil)
		require.NoError(t, err)
		assert.Equal(t, want, v.CPUOnly, config)
	}
}

// source writes a user's repository with a model.
func source(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1", "deep"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "1", "deep", "model.bin"), []byte("weights"), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(`name: "m"`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "labels.txt"), []byte("cat"), 0o600))
	require.NoError(t, os.Symlink("../labels.txt", filepath.Join(dir, "m", "labels.txt")))
	return dir
}

func TestRepository(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		r := variantRepository{Dir: filepath.Join(t.TempDir(), "out"), Source: source(t), OwnNames: own}
		require.NoError(t, r.Create(false))
		n := newVariantNames()
		base := parse(t, `name: "m" max_batch_size: 4`)
		for _, p := range []trial.Patch{nil, {"max_batch_size": 8}, {"max_batch_size": 16}, {"max_batch_size": 8}} {
			v, err := n.Variant(base, p, nil)
			require.NoError(t, err)
			require.NoError(t, r.Add(v))
		}
		v, err := n.Variant(base, trial.Patch{"max_batch_size": 16}, nil)
		require.NoError(t, err)
		require.NoError(t, r.AddComposing(v))

		for variant, batch := range map[string]int32{"m_config_default": 4, "m_config_0": 8, "m_config_1": 16, "m": 16} {
			dir := filepath.Join(r.Dir, variant)
			c, err := modelconfig.ReadFile(filepath.Join(dir, modelconfig.FileName))
			require.NoError(t, err)
			assert.Equal(t, batch, c.GetMaxBatchSize())
			want := "m"
			if own {
				want = variant
			}
			assert.Equal(t, want, c.GetName())
			b, err := os.ReadFile(filepath.Join(dir, "1", "deep", "model.bin"))
			require.NoError(t, err)
			assert.Equal(t, "weights", string(b))
			b, err = os.ReadFile(filepath.Join(dir, "labels.txt"))
			require.NoError(t, err)
			assert.Equal(t, "cat", string(b))
		}
		link, err := os.Readlink(filepath.Join(r.Dir, "m_config_0", "1"))
		require.NoError(t, err)
		assert.Equal(t, filepath.Join("..", "m_config_default", "1"), link)
		info, err := os.Lstat(filepath.Join(r.Dir, "m_config_default", "1", "deep", "model.bin"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o640), info.Mode(), "the first variant has a copy")

		// The user's repository is as it was.
		b, err := os.ReadFile(filepath.Join(r.Source, "m", "config.pbtxt"))
		require.NoError(t, err)
		assert.Equal(t, `name: "m"`, string(b))
	}
}

func TestRepositoryWithoutSource(t *testing.T) {
	t.Parallel()
	r := variantRepository{Dir: t.TempDir() + "/out"}
	require.NoError(t, r.Create(false))
	v, err := newVariantNames().Variant(parse(t, `name: "m"`), nil, nil)
	require.NoError(t, err)
	require.NoError(t, r.Add(v))
	entries, err := os.ReadDir(filepath.Join(r.Dir, "m_config_default"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), nil, 0o600))
	r := variantRepository{Dir: dir, Source: source(t)}
	require.EqualError(t, r.Create(false), `Path "`+dir+`" already exists. Please set or modify "--output-model-repository-path" flag or remove this directory. `+
		`You can also allow overriding of the output directory using the "--override-output-model-repository" flag.`)
	require.NoError(t, r.Create(true))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)

	// An override never removes the user's models.
	for _, out := range []string{r.Source, filepath.Dir(r.Source)} {
		bad := variantRepository{Dir: out, Source: r.Source}
		require.ErrorContains(t, bad.Create(true), "is not replaced, because the model repository is in it")
	}
	require.FileExists(t, filepath.Join(r.Source, "m", "config.pbtxt"))
}
