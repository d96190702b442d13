package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

var judge = Judge{
	Score:     func(a, b *trial.Measurement) float64 { return a.Throughput() - b.Throughput() },
	Passes:    func(m *trial.Measurement) bool { return m.Members[0][trial.LatencyP99] <= 10 },
	Violation: func(m *trial.Measurement) float64 { return max(0, m.Members[0][trial.LatencyP99]-10) },
}

var model = Model{Name: "m", MaxBatch: 4, Instances: 1}

func options() Options {
	return Options{Judge: judge, Space: Space{Models: []Model{model}}}
}

func proposal(instances, maxBatch, concurrency int) trial.Proposal {
	return trial.Proposal{Members: []trial.ProposedMember{{
		Model: "m", Patch: model.Patch(nil, instances, maxBatch), Load: trial.Load{Batch: 1, Concurrency: concurrency},
	}}}
}

func TestRemembers(t *testing.T) {
	t.Parallel()
	first, again := measured(1, 1), (*trial.Measurement)(nil)
	s := start(options(), func(t *measurer) string {
		t.Measure(proposal(1, 1, 1))
		p := proposal(1, 1, 1)
		p.Precision = 0.1
		again, _ = t.Measure(p)
		t.Measure(proposal(2, 1, 1))
		return "done"
	})
	p, ok := s.Next(nil)
	require.True(t, ok)
	require.Equal(t, proposal(1, 1, 1), p)
	p, ok = s.Next(&trial.Result{Measurement: first})
	require.True(t, ok)
	require.Equal(t, proposal(2, 1, 1), p, "the same proposal is answered from memory")
	require.Same(t, first, again)
	require.Empty(t, s.Reason(), "as long as the search runs")
	_, ok = s.Next(nil)
	require.False(t, ok)
	require.Equal(t, "done", s.Reason())
	s.Stop()
	require.Equal(t, "done", s.Reason())
}

func TestStop(t *testing.T) {
	t.Parallel()
	calls, again := 0, true
	s := start(options(), func(t *measurer) string {
		for {
			calls++
			if _, ok := t.Measure(proposal(calls, 1, 1)); !ok {
				_, again = t.Measure(proposal(100, 1, 1))
				return "ignored"
			}
		}
	})
	_, ok := s.Next(nil)
	require.True(t, ok)
	s.Stop()
	require.Equal(t, 1, calls)
	require.False(t, again, "a stopped search stays stopped")
	require.Equal(t, "the search was stopped", s.Reason())
	_, ok = s.Next(nil)
	require.False(t, ok)

	start(options(), func(*measurer) string { return "" }).Stop() // before it begins
}

func TestMissingResultIsAFailure(t *testing.T) {
	t.Parallel()
	var got *trial.Result
	s := start(options(), func(t *measurer) string {
		got, _ = t.Run(proposal(1, 1, 1))
		return ""
	})
	s.Next(nil)
	s.Next(nil)
	require.Equal(t, trial.Other, got.Failure.Class)
}

// TestMemoryLimits checks which trials are not run after one ran out of memory.
func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	other := proposal(3, 4, 4)
	other.Members[0].Patch["optimization"] = map[string]any{"priority": 1}
	cpu := proposal(3, 4, 4)
	cpu.Members[0].Patch["instance_group"] = []any{map[string]any{"count": 3, "kind": "KIND_CPU"}}
	for name, tc := range map[string]struct {
		class trial.Class
		p     trial.Proposal
		open  bool
	}{
		"the same again":                {trial.OutOfGPUMemoryAtLoad, proposal(2, 4, 4), false},
		"more instances":                {trial.OutOfGPUMemoryAtLoad, proposal(3, 4, 4), false},
		"larger batches":                {trial.OutOfGPUMemoryAtLoad, proposal(2, 8, 4), false},
		"at load, with a smaller load":  {trial.OutOfGPUMemoryAtLoad, proposal(2, 8, 1), false},
		"fewer instances":               {trial.OutOfGPUMemoryAtLoad, proposal(1, 64, 4), true},
		"smaller batches":               {trial.OutOfGPUMemoryAtLoad, proposal(9, 2, 4), true},
		"another configuration":         {trial.OutOfGPUMemoryAtLoad, other, true},
		"on the CPU":                    {trial.OutOfGPUMemoryAtLoad, cpu, true},
		"under load, a smaller load":    {trial.OutOfGPUMemoryAtRun, proposal(3, 8, 3), true},
		"under load, a larger load":     {trial.OutOfGPUMemoryAtRun, proposal(3, 8, 5), false},
		"near the limit, a larger load": {trial.NearMiss, proposal(2, 4, 5), false},
		"another failure":               {trial.Other, proposal(3, 8, 5), true},
	} {
		var open bool
		var run *trial.Result
		s := start(options(), func(t *measurer) string {
			t.Measure(proposal(2, 4, 4))
			open = t.Open(tc.p)
			run, _ = t.Run(tc.p)
			return "done"
		})
		_, ok := s.Next(nil)
		require.True(t, ok)
		_, proposed := s.Next(&trial.Result{Failure: &trial.Failure{Class: tc.class}})
		require.Equal(t, tc.open, proposed, name)
		require.Equal(t, tc.open, open, name)
		if !tc.open && name != "the same again" {
			require.Equal(t, trial.MemoryLimit, run.Failure.Class, name)
			require.Equal(t, "done; 1 proposals were not run because they do not fit the memory", s.Reason())
		}
		s.Stop()
	}
}

func TestBetter(t *testing.T) {
	t.Parallel()
	tr := &measurer{Options: options()}
	require.True(t, tr.Better(measured(1, 1), nil))
	require.False(t, tr.Better(nil, measured(1, 1)))
	require.True(t, tr.Better(measured(1, 10), measured(9, 11)), "meeting the constraints counts first")
	require.True(t, tr.Better(measured(2, 10), measured(1, 1)))
	require.True(t, tr.Better(measured(1, 12), measured(9, 13)), "then the smaller violation")
	require.False(t, tr.Better(measured(1, 1), measured(1, 2)), "equal objectives")
}

func TestTop(t *testing.T) {
	t.Parallel()
	plain := trial.Proposal{Members: []trial.ProposedMember{{Model: "m", Load: trial.Load{Batch: 1, Concurrency: 1}}}}
	top := func(n int, results ...*trial.Result) []trial.Proposal {
		tr := &measurer{Options: options(), results: results}
		return tr.Top(n)
	}
	of := func(p trial.Proposal, throughput, p99 float64) *trial.Result {
		return &trial.Result{Proposal: p, Measurement: measured(throughput, p99)}
	}
	all := []*trial.Result{
		of(plain, 1, 1),
		of(proposal(1, 1, 1), 5, 1),
		of(proposal(1, 1, 8), 9, 99), // misses the constraint
		of(proposal(2, 1, 1), 7, 2),
		of(proposal(2, 1, 4), 8, 3),
		of(proposal(3, 1, 1), 99, 11), // misses it under every load
		{Proposal: proposal(4, 1, 1), Failure: &trial.Failure{Class: trial.Other}},
	}
	require.Equal(t, []trial.Proposal{proposal(2, 1, 4), proposal(1, 1, 1), plain}, top(3, all...))
	require.Equal(t, []trial.Proposal{proposal(2, 1, 4), plain}, top(1, all...))
	require.Equal(t, []trial.Proposal{proposal(3, 1, 1)}, top(3, all[5:]...), "none meets the constraints")
	require.Empty(t, top(3))
}
