package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

func proposal(patch trial.Patch, load trial.Load) trial.Proposal {
	return trial.Proposal{Members: []trial.ProposedMember{{Model: "m", Patch: patch, Load: load}}}
}

func base() *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 4, InstanceGroup: []*inferencepb.ModelInstanceGroup{{Count: 2, Kind: inferencepb.ModelInstanceGroup_KIND_CPU}}}
}

// TestPredictor: n clients keep k instances busy, and wait for n/k executions.
func TestPredictor(t *testing.T) {
	t.Parallel()
	predict := Predictor(planner(t, CurvePoint{Batch: 1, Time: 10 * ms}, CurvePoint{Batch: 4, Time: 20 * ms}), base(), 1)
	group := func(count any) trial.Patch {
		return trial.Patch{"instance_group": []any{map[string]any{"count": count, "kind": "KIND_CPU"}}}
	}
	for _, test := range []struct {
		patch           trial.Patch
		load            trial.Load
		throughput, p99 float64
	}{
		{nil, trial.Load{Batch: 1, Concurrency: 1}, 100, 10},
		{nil, trial.Load{Batch: 1, Concurrency: 8}, 200, 40},
		{nil, trial.Load{Batch: 4, Concurrency: 2}, 400, 20},
		{group(4), trial.Load{Batch: 1, Concurrency: 8}, 400, 20},
		{group(float64(4)), trial.Load{Concurrency: 8}, 400, 20},
		{nil, trial.Load{Batch: 1, RequestRate: 50}, 50, 10},
		{nil, trial.Load{Batch: 2, RequestRate: 50}, 100, 13.333},
	} {
		throughput, p99, ok := predict(proposal(test.patch, test.load))
		require.True(t, ok)
		require.InEpsilon(t, test.throughput, throughput, 0.01, "%+v", test)
		require.InEpsilon(t, test.p99, p99, 0.01, "%+v", test)
	}
}

// TestNoForecast: what the curve says nothing about.
func TestNoForecast(t *testing.T) {
	t.Parallel()
	predict := Predictor(planner(t, CurvePoint{Batch: 1, Time: 10 * ms}), base(), 1)
	one := proposal(nil, trial.Load{Batch: 1, Concurrency: 1})
	_, _, ok := predict(one)
	require.True(t, ok)
	composing := proposal(nil, trial.Load{Concurrency: 1})
	composing.Members[0].Composing = one.Members
	for name, p := range map[string]trial.Proposal{
		"several models": {Members: append(one.Members, one.Members...)},
		"composing":      composing,
		"intervals":      proposal(nil, trial.Load{Batch: 1, Intervals: "file"}),
		"large batch":    proposal(nil, trial.Load{Batch: 5, Concurrency: 1}),
		"wrong patch":    proposal(trial.Patch{"max_batch_size": "many"}, trial.Load{Concurrency: 1}),
		"unknown field":  proposal(trial.Patch{"no_such_field": 1}, trial.Load{Concurrency: 1}),
		"no patch value": proposal(trial.Patch{"max_batch_size": func() {}}, trial.Load{Concurrency: 1}),
	} {
		_, _, ok := predict(p)
		require.False(t, ok, name)
	}
}

func TestPatchedSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		patch trial.Patch
		want  Setting
	}{
		{nil, Setting{MaxBatch: 4, Delay: NoDelay, Instances: 2, Devices: 2}},
		{
			trial.Patch{"max_batch_size": 16, "dynamic_batching": map[string]any{"max_queue_delay_microseconds": 500, "preferred_batch_size": []any{4, 8}}},
			Setting{MaxBatch: 16, Delay: 500 * time.Microsecond, Preferred: []int{4, 8}, Instances: 2, Devices: 2},
		},
		{trial.Patch{"dynamic_batching": map[string]any{}}, Setting{MaxBatch: 4, Instances: 2, Devices: 2}},
		{trial.Patch{"instance_group": []any{map[string]any{"count": 3, "kind": "KIND_GPU"}}}, Setting{MaxBatch: 4, Delay: NoDelay, Instances: 6, Devices: 2}},
		{
			trial.Patch{"instance_group": []any{map[string]any{"count": 3, "kind": "KIND_GPU", "gpus": []int{1}}, map[string]any{"kind": "KIND_CPU"}}},
			Setting{MaxBatch: 4, Delay: NoDelay, Instances: 4, Devices: 2},
		},
		{trial.Patch{"instance_group": []any{}}, Setting{MaxBatch: 4, Delay: NoDelay, Instances: 2, Devices: 2}},
	} {
		c, err := test.patch.Apply(base())
		require.NoError(t, err)
		require.Equal(t, test.want, settingOf(c, 2), "%v", test.patch)
	}
	sequence := base()
	sequence.SchedulingChoice = &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{}}
	c, err := trial.Patch{"dynamic_batching": map[string]any{}}.Apply(sequence)
	require.NoError(t, err)
	require.NotNil(t, c.GetDynamicBatching())
}
