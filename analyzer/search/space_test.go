package search

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

func group(count any, kind string) []any {
	return []any{map[string]any{"count": count, "kind": kind}}
}

func TestLists(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{3, 6, 12}, Range{Min: 3, Max: 23}.Doubling())
	require.Equal(t, []int{1, 2}, Range{Min: 0, Max: 2}.Doubling())
	require.Equal(t, []int{3, 4, 8, 16}, Range{Min: 3, Max: 23}.Powers())
	require.Equal(t, []int{1, 2, 9}, ascending([]int{9, 1, 2, 1}))
}

func TestPatch(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 4, Instances: 2}
	require.Equal(t, trial.Patch{"max_batch_size": 8, "instance_group": group(3, "KIND_GPU"), "dynamic_batching": map[string]any{}}, m.Patch(nil, 3, 8))
	m.CPUOnly, m.Sequence = true, true
	require.Equal(t, trial.Patch{"max_batch_size": 8, "instance_group": group(3, "KIND_CPU")}, m.Patch(nil, 3, 8))
	m.Patches = []trial.Patch{{"instance_group": group(1, "KIND_GPU")}}
	require.Equal(t, group(3, "KIND_GPU"), m.Patch(nil, 3, 8)["instance_group"], "the user's kind counts")
	require.Equal(t, trial.Patch{"instance_group": group(3, "KIND_GPU")}, Model{}.Patch(nil, 3, 8), "no batching")

	require.Equal(t, trial.Patch{"a": map[string]any{"b": 1, "c": 2}, "d": 3},
		mergePatches(trial.Patch{"a": map[string]any{"b": 1, "c": 9}}, trial.Patch{"a": map[string]any{"c": 2}, "d": 3}))
}

func TestShape(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 4, Instances: 2}
	for name, tc := range map[string]struct {
		patch       trial.Patch
		count, size int
	}{
		"default": {nil, 2, 4},
		"own":     {m.Patch(nil, 3, 8), 3, 8},
		"yaml":    {trial.Patch{"max_batch_size": uint64(16), "instance_group": []any{map[string]any{"count": int64(2)}, map[string]any{"count": 3.0}}}, 5, 16},
		"json":    {trial.Patch{"max_batch_size": json.Number("2"), "instance_group": group(json.Number("7"), "")}, 7, 2},
		"without": {trial.Patch{"instance_group": []any{map[string]any{"kind": "KIND_CPU"}}}, 1, 4},
	} {
		count, size := m.Shape(tc.patch)
		require.Equal(t, []int{tc.count, tc.size}, []int{count, size}, name)
	}
}

func TestListedValues(t *testing.T) {
	t.Parallel()
	var m Model
	for _, delay := range []int{500, 100} {
		for _, k := range []int{4, 1} {
			for _, b := range []int{16, 8} {
				m.Patches = append(m.Patches, trial.Patch{
					"instance_group":   group(k, "KIND_GPU"),
					"max_batch_size":   b,
					"dynamic_batching": map[string]any{"max_queue_delay_microseconds": delay},
				})
			}
		}
	}
	require.Equal(t, []int{4, 1}, m.Counts())
	require.Equal(t, []int{16, 8}, m.BatchSizes())
	require.Equal(t, []int{500, 100}, m.Delays())
	walks := m.Walks()
	require.Len(t, walks, 4)
	require.Equal(t, m.Patches[2:4], walks[1], "the batch is the inner axis, in the user's order")

	_, err := m.Fixed(false)
	require.ErrorContains(t, err, "lists several values")
	fixed, err := m.Fixed(true)
	require.NoError(t, err)
	require.Equal(t, trial.Patch{"dynamic_batching": map[string]any{}}, fixed)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	p := trial.Proposal{Members: []trial.ProposedMember{{Model: "m", Patch: trial.Patch{"b": 1, "a": 2}, Load: trial.Load{Concurrency: 1}}}}
	q := trial.Proposal{Members: []trial.ProposedMember{{Model: "m", Patch: trial.Patch{"a": 2, "b": 1}, Load: trial.Load{Concurrency: 1}}}, Precision: 1}
	require.Equal(t, proposalKey(p), proposalKey(q))
	q.Members[0].Load.Concurrency = 2
	require.NotEqual(t, proposalKey(p), proposalKey(q))
	require.Equal(t, serverKey(p), serverKey(q))
	require.NotEmpty(t, proposalKey(trial.Proposal{Members: []trial.ProposedMember{{Patch: trial.Patch{"f": func() {}}}}}))
}

func TestValidate(t *testing.T) {
	t.Parallel()
	one := Range{Min: 1, Max: 1}
	s := Space{Models: []Model{{Name: "m"}}, Concurrency: one, RequestRate: one, Instances: one, ModelBatch: one}
	require.NoError(t, s.Validate())
	bad := s
	bad.Instances = Range{Min: 2, Max: 1}
	require.EqualError(t, bad.Validate(), "the limits of the instance count, 2 to 1, are not a range of positive numbers")
	bad = s
	bad.Models = []Model{{Name: "m", Batches: []int{0}}}
	require.EqualError(t, bad.Validate(), `model "m": load 0 is less than 1`)
	bad.Models = nil
	require.Error(t, bad.Validate())
}
