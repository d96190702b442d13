package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

func quickDefaults(models ...Model) Space {
	return Space{
		Models:      models,
		Concurrency: Range{Min: 1, Max: 1024, Soft: true},
		RequestRate: Range{Min: 16, Max: 8192, Soft: true},
		Instances:   Range{Min: 1, Max: 5, Soft: true},
		ModelBatch:  Range{Min: 1, Max: 128, Soft: true},
		Unbounded:   true,
	}
}

// proposalAt returns the proposal of a coordinate.
func proposalAt(t *testing.T, s Space, c ...int) trial.Proposal {
	t.Helper()
	parts, dims, err := climbPartsOf(s)
	require.NoError(t, err)
	require.Equal(t, len(dims), len(c))
	return (&climb{measurer: &measurer{Options: Options{Space: s}}, parts: parts, dims: dims}).proposal(c)
}

func TestProposal(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 4, Patches: []trial.Patch{{
		"max_batch_size":   16,
		"dynamic_batching": map[string]any{"preferred_batch_size": []any{4}},
		"optimization":     map[string]any{"priority": 1},
	}}}
	require.Equal(t, trial.Proposal{Members: []trial.ProposedMember{{
		Model: "m",
		Patch: trial.Patch{
			"max_batch_size":   32,
			"instance_group":   group(8, "KIND_GPU"),
			"dynamic_batching": map[string]any{"preferred_batch_size": []any{4}},
			"optimization":     map[string]any{"priority": 1},
		},
		Load: trial.Load{Batch: 1, Concurrency: 512},
	}}}, proposalAt(t, quickDefaults(m), 5, 7))
	require.Equal(t, 16, m.Patches[0]["max_batch_size"], "the user's patch stays")
}

func TestProposalOfTwoModels(t *testing.T) {
	t.Parallel()
	p := proposalAt(t, quickDefaults(
		Model{Name: "a", MaxBatch: 4, Sequence: true},
		Model{Name: "b", MaxBatch: 8, CPUOnly: true},
	), 1, 2, 4, 5)
	require.Equal(t, []trial.ProposedMember{
		{Model: "a", Patch: trial.Patch{"max_batch_size": 2, "instance_group": group(3, "KIND_GPU")}, Load: trial.Load{Batch: 1, Concurrency: 12}},
		{Model: "b", Patch: trial.Patch{"max_batch_size": 16, "instance_group": group(6, "KIND_CPU"), "dynamic_batching": map[string]any{}}, Load: trial.Load{Batch: 1, Concurrency: 192}},
	}, p.Members)
}

func TestLimitsOfTheUser(t *testing.T) {
	t.Parallel()
	s := quickDefaults(Model{Name: "m", MaxBatch: 4})
	limit := func(r *Range, least, most int) Space {
		old := *r
		defer func() { *r = old }()
		*r = Range{Min: least, Max: most}
		return s
	}
	for name, tc := range map[string]struct {
		space                         Space
		batch, instances, concurrency int
	}{
		"none":            {s, 32, 8, 512},
		"max batch":       {limit(&s.ModelBatch, 1, 16), 16, 8, 256},
		"min batch":       {limit(&s.ModelBatch, 64, 128), 64, 8, 1024},
		"max instances":   {limit(&s.Instances, 1, 4), 32, 4, 256},
		"min instances":   {limit(&s.Instances, 16, 32), 32, 16, 1024},
		"max concurrency": {limit(&s.Concurrency, 1, 8), 32, 8, 8},
		"min concurrency": {limit(&s.Concurrency, 600, 900), 32, 8, 600},
	} {
		p := proposalAt(t, tc.space, 5, 7)
		k, b := tc.space.Models[0].Shape(p.Members[0].Patch)
		require.Equal(t, []int{tc.batch, tc.instances, tc.concurrency}, []int{b, k, p.Members[0].Load.Concurrency}, name)
	}
}

func TestComposingModels(t *testing.T) {
	t.Parallel()
	a := Model{Name: "a", MaxBatch: 4, Sequence: true}
	b := Model{Name: "b", MaxBatch: 8, CPUOnly: true}
	plain := Model{Name: "plain"}

	ensemble := Model{Name: "e", MaxBatch: 4, Ensemble: true, Composing: []Model{a, b}}
	require.Equal(t, []trial.ProposedMember{{
		Model: "e",
		Patch: trial.Patch{"max_batch_size": 2},
		Load:  trial.Load{Batch: 1, Concurrency: 12},
		Composing: []trial.ProposedMember{
			{Model: "a", Patch: trial.Patch{"max_batch_size": 2, "instance_group": group(3, "KIND_GPU")}},
			{Model: "b", Patch: trial.Patch{"max_batch_size": 16, "instance_group": group(6, "KIND_CPU"), "dynamic_batching": map[string]any{}}},
		},
	}}, proposalAt(t, quickDefaults(ensemble), 1, 2, 4, 5).Members)

	ensemble.Composing = []Model{a, plain}
	p := proposalAt(t, quickDefaults(ensemble), 1, 2, 5)
	require.Equal(t, trial.Patch{"max_batch_size": 1}, p.Members[0].Patch, "a model that does not batch takes one row")
	require.Equal(t, 12, p.Members[0].Load.Concurrency)

	bls := Model{Name: "m", MaxBatch: 4, Composing: []Model{a, b}}
	p = proposalAt(t, quickDefaults(bls), 1, 2, 3, 4, 5, 6)
	require.Equal(t, trial.Patch{"max_batch_size": 2, "instance_group": group(3, "KIND_GPU"), "dynamic_batching": map[string]any{}}, p.Members[0].Patch)
	require.Equal(t, group(5, "KIND_GPU"), p.Members[0].Composing[0].Patch["instance_group"])
	require.Equal(t, 32, p.Members[0].Composing[1].Patch["max_batch_size"])
	require.Equal(t, 12, p.Members[0].Load.Concurrency)

	_, _, err := climbPartsOf(quickDefaults(Model{Name: "e", Ensemble: true}))
	require.ErrorContains(t, err, "an ensemble needs its composing models")
}

func TestDefaultLoad(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		m    Model
		want int
	}{
		{Model{Name: "m", MaxBatch: 4, Instances: 1}, 8},
		{Model{Name: "m", MaxBatch: 4, Instances: 3}, 24},
		{Model{Name: "m", MaxBatch: 0, Instances: 2}, 4}, // Model Analyzer has 0 here
	} {
		s := quickDefaults(tc.m)
		require.Equal(t, tc.want, s.DefaultLoad(tc.m, tc.m.Instances, tc.m.MaxBatch).Concurrency)
	}
	fixed := trial.Load{Batch: 2, RequestRate: 50}
	m := Model{Name: "m", Load: &fixed}
	require.Equal(t, fixed, quickDefaults(m).DefaultLoad(m, 1, 1))
}

// climbOver runs a climb over one model and returns the shapes and why it ended.
func climbOver(t *testing.T, s Space, judge Judge, surface func(k, b int) *trial.Measurement) (shapes [][2]int, reason string) {
	t.Helper()
	algorithm, err := quickAlgorithm(s)
	require.NoError(t, err)
	search := start(Options{Judge: judge, Space: s}, algorithm)
	defer search.Stop()
	var last *trial.Result
	for {
		p, ok := search.Next(last)
		if !ok {
			return shapes, search.Reason()
		}
		k, b := s.Models[0].Shape(p.Members[0].Patch)
		shapes = append(shapes, [2]int{k, b})
		last = &trial.Result{Measurement: surface(k, b)}
		require.Less(t, len(shapes), 1000)
	}
}

func TestClimb(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 4, Instances: 1}
	judge := Judge{Score: byThroughput}
	flat := func(_, _ int) *trial.Measurement { return measured(100, 1) }

	// The default, the home, then the three neighbors that cover the most values.
	shapes, reason := climbOver(t, quickDefaults(m), judge, flat)
	require.Equal(t, [][2]int{{1, 4}, {1, 1}, {2, 1}, {1, 2}, {3, 4}}, shapes)
	require.Equal(t, "no neighbor of the best configuration promises a gain", reason)

	// Throughput doubles with the batch up to 32, and grows with up to 4 instances.
	hill := func(k, b int) *trial.Measurement {
		return measured(100*float64(min(b, 32)*min(k, 4))/(1+0.01*float64(b*k)), 1)
	}
	shapes, _ = climbOver(t, quickDefaults(m), judge, hill)
	require.Less(t, len(shapes), 30)
	best := 0.0
	for _, s := range shapes {
		best = max(best, hill(s[0], s[1]).Throughput())
	}
	require.Greater(t, best, 0.85*hill(4, 32).Throughput())

	// Everything fails: the climb has nowhere to step back to.
	shapes, reason = climbOver(t, quickDefaults(m), judge, func(_, _ int) *trial.Measurement { return nil })
	require.Equal(t, [][2]int{{1, 4}, {1, 1}}, shapes)
	require.Equal(t, "no neighbor of the last configuration is nearer to the best one", reason)

	// The limits hold, soft as they are.
	bounded := quickDefaults(m)
	bounded.Unbounded = false
	shapes, _ = climbOver(t, bounded, judge, func(k, b int) *trial.Measurement { return measured(float64(k*b), 1) })
	for _, s := range shapes {
		require.LessOrEqual(t, s[0], 5)
		require.LessOrEqual(t, s[1], 128)
	}
	require.Contains(t, shapes, [2]int{5, 128})
}

// TestClimbStepsBack checks that a home that misses the constraints is left for the best one,
// around which only adjacent neighbors are measured.
func TestClimbStepsBack(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 1, Instances: 1}
	// Latency grows with k*b; the first large step lands where it is above the limit.
	surface := func(k, b int) *trial.Measurement {
		return measured(100*float64(k*b), float64(10*k*b))
	}
	shapes, _ := climbOver(t, quickDefaults(m), within(1, 130), surface)
	best := 0
	for _, s := range shapes {
		if n := s[0] * s[1]; n <= 13 {
			best = max(best, n)
		}
	}
	require.GreaterOrEqual(t, best, 8)
	require.Less(t, len(shapes), 40)
}
