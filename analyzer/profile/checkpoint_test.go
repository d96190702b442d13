package profile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/analyzer/bench"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

// The file was written by Model Analyzer 1.58 on a machine without GPU.
func TestModelAnalyzer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "modelanalyzer.ckpt"))
	require.NoError(t, err)
	var s Checkpoint
	require.NoError(t, json.Unmarshal(text, &s))
	require.Len(t, s.Trials, 2)
	assert.Empty(t, s.Tool)
	for i, concurrency := range []int{1, 2} {
		r := s.Trials[i].Result
		require.Len(t, r.Config.Members, 1)
		m := r.Config.Members[0]
		assert.Equal(t, "addpy", m.Model)
		assert.Equal(t, "addpy_config_default", m.Name)
		assert.True(t, m.Default())
		assert.True(t, m.CPUOnly)
		assert.Equal(t, int32(8), m.Config.GetMaxBatchSize())
		assert.Equal(t, "python", m.Config.GetBackend())
		assert.Equal(t, trial.Load{Batch: 1, Concurrency: concurrency}, m.Load)
		assert.Positive(t, r.Measurement.Members[0][trial.LatencyP99])
		assert.InDelta(t, 6, r.Measurement.Members[0][trial.CPUUsedRAM], 1)
	}
	assert.InDelta(t, 2644.88, s.Trials[0].Result.Measurement.Members[0][trial.Throughput], 0)
	// The key is that of the same trial here.
	assert.Equal(t, "addpy_config_default "+s.Trials[0].Options[0].Representation(), s.Trials[0].Key)

	// What is written again has the structure that Model Analyzer reads.
	again, err := json.Marshal(&s)
	require.NoError(t, err)
	var theirs, ours map[string]any
	require.NoError(t, json.Unmarshal(text, &theirs))
	require.NoError(t, json.Unmarshal(again, &ours))
	for key := range theirs {
		assert.Contains(t, ours, key)
	}
	entry := func(f map[string]any) (config, measurement map[string]any) {
		results := f["ResultManager.results"].(map[string]any)["_results"].(map[string]any)
		pair := results["addpy"].(map[string]any)["addpy_config_default"].([]any)
		return pair[0].(map[string]any)["_model_run_configs"].([]any)[0].(map[string]any), pair[1].(map[string]any)[s.Trials[0].Key].(map[string]any)
	}
	config, measured := entry(theirs)
	ourConfig, ourMeasured := entry(ours)
	assert.Equal(t, config["_model_config_variant"], ourConfig["_model_config_variant"])
	for _, part := range []string{"_options", "_args"} {
		want := config["_perf_config"].(map[string]any)[part].(map[string]any)
		got := ourConfig["_perf_config"].(map[string]any)[part].(map[string]any)
		assert.Equal(t, want, got, part)
	}
	member := func(m map[string]any) map[string]any {
		return m["_model_config_measurements"].([]any)[0].(map[string]any)
	}
	assert.Equal(t, member(measured)["_model_specific_pa_params"], member(ourMeasured)["_model_specific_pa_params"])
	assert.ElementsMatch(t, member(measured)["_non_gpu_data"], member(ourMeasured)["_non_gpu_data"])
}

// state returns a checkpoint with everything that can be in one.
func state(t *testing.T) *Checkpoint {
	t.Helper()
	s := newCheckpoint()
	s.Tool, s.Seed = "triton test", 7
	s.GPUs = map[string]GPU{"GPU-1": {"A100", 40 << 30}}
	s.ServerOnly = map[string]trial.Values{"GPU-1": {trial.GPUUsedMemory: 300}}
	b, err := s.Names.Variant(&inferencepb.ModelConfig{Name: "b"}, trial.Patch{"max_batch_size": float64(2)}, nil)
	require.NoError(t, err)
	for i, batch := range []float64{8, 4} {
		v, err := s.Names.Variant(&inferencepb.ModelConfig{Name: "m", MaxBatchSize: 1}, trial.Patch{"max_batch_size": batch}, []trial.Variant{b})
		require.NoError(t, err)
		var o bench.LoadOptions
		o.Set("model-name", "m")
		s.Trials = append(s.Trials, RecordedTrial{
			Key: v.Name, Options: []bench.LoadOptions{o},
			Result: trial.Result{
				Config: trial.Config{Members: []trial.Member{{Variant: v, Composing: []trial.Variant{b}, Load: trial.Load{Batch: i + 1, RequestRate: 100}}}},
				Measurement: &trial.Measurement{
					Members:  []trial.Values{{trial.Throughput: 100 + float64(i)}},
					GPUs:     map[string]trial.Values{"GPU-1": {trial.GPUUsedMemory: 1000}},
					Requests: []int{500}, Stable: i == 0, Duration: time.Second,
					Confidence: map[trial.Metric]trial.Interval{trial.Throughput: {Low: 99, High: 101}},
				},
			},
		})
	}
	return s
}

func TestSave(t *testing.T) {
	t.Parallel()
	d := CheckpointDirectory(filepath.Join(t.TempDir(), "checkpoints"))
	s, _, next, err := d.Latest()
	require.NoError(t, err)
	require.Nil(t, s)
	require.Zero(t, next)

	want := state(t)
	file, err := d.Save(0, newCheckpoint())
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(string(d), "0.ckpt"), file)
	_, err = d.Save(10, want)
	require.NoError(t, err)
	_, err = d.Save(9, newCheckpoint())
	require.NoError(t, err)
	// Other files, and what a killed run left, are not checkpoints.
	require.NoError(t, os.WriteFile(filepath.Join(string(d), "11.ckpt.123"), []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(string(d), "notes.ckpt"), nil, 0o600))

	got, file, next, err := d.Latest()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(string(d), "10.ckpt"), file)
	assert.Equal(t, 11, next)
	assert.Equal(t, want.Names, got.Names)
	assert.Equal(t, want.GPUs, got.GPUs, "the identity of devices is kept")
	assert.Equal(t, want.ServerOnly, got.ServerOnly)
	assert.Equal(t, want.Seed, got.Seed)
	assert.Equal(t, want.Tool, got.Tool)
	require.Len(t, got.Trials, 2)
	for i, w := range want.Trials {
		g := got.Trials[i] // in the order of measurement
		assert.Equal(t, w.Key, g.Key)
		assert.Equal(t, w.Result.Measurement, g.Result.Measurement)
		assert.True(t, proto.Equal(w.Result.Config.Members[0].Config, g.Result.Config.Members[0].Config))
		assert.Equal(t, w.Result.Config.Members[0].Patch, g.Result.Config.Members[0].Patch)
		assert.Equal(t, w.Result.Config.Members[0].Load, g.Result.Config.Members[0].Load)
		assert.Equal(t, "b_config_0", g.Result.Config.Members[0].Composing[0].Name)
		assert.Equal(t, w.Options[0].Args(), g.Options[0].Args())
		found, ok := got.Find(w.Key)
		assert.True(t, ok)
		assert.Equal(t, g, found)
	}
	_, ok := got.Find("other")
	assert.False(t, ok)
	assert.Equal(t, []string{"m"}, want.Trials[0].Result.Config.Models())
	assert.Equal(t, "m_config_0::b_config_0", CheckpointName(want.Trials[0].Result.Config))
}

func TestCorrupt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"ResultManager.results": {"_results": {"m": {"v": [{}]}}}}`, `{"ResultManager.results": {"_results": {"m": {"v": [{}, {"k": {}}]}}}}`} {
		d := CheckpointDirectory(t.TempDir())
		require.NoError(t, os.WriteFile(filepath.Join(string(d), "3.ckpt"), []byte(text), 0o600))
		_, _, _, err := d.Latest()
		require.ErrorContains(t, err, "3.ckpt is empty or corrupted", text)
		require.ErrorContains(t, err, "remove it from the checkpoint directory")
	}
}

func FuzzState(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "modelanalyzer.ckpt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"ResultManager.results": {"_results": {"m": {"v": [{"_model_run_configs": [{}]}, {"k": {"_model_config_measurements": [{}]}}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Checkpoint
		if json.Unmarshal(text, &s) != nil {
			return
		}
		if _, err := json.Marshal(&s); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
