package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// defaults is the space of Model Analyzer's defaults.
func defaults(models ...Model) Space {
	return Space{
		Models:      models,
		Concurrency: Range{Min: 1, Max: 1024, Soft: true},
		RequestRate: Range{Min: 16, Max: 8192, Soft: true},
		Instances:   Range{Min: 1, Max: 5, Soft: true},
		ModelBatch:  Range{Min: 1, Max: 128, Soft: true},
	}
}

// limited returns the space with other upper limits.
func limited(s Space, batch, instances, concurrency int) Space {
	s.ModelBatch = Range{Min: 1, Max: batch}
	s.Instances = Range{Min: 1, Max: instances}
	s.Concurrency = Range{Min: 1, Max: concurrency}
	return s
}

func batching(name string) Model { return Model{Name: name, MaxBatch: 4, Instances: 1} }

// combinations is the product of model_config_parameters with max_batch_size and instance counts.
func combinations(batches, counts []int) []trial.Patch {
	var out []trial.Patch
	for _, b := range batches {
		for _, k := range counts {
			out = append(out, trial.Patch{
				"max_batch_size": b,
				"instance_group": []any{map[string]any{"kind": "KIND_GPU", "count": k}},
			})
		}
	}
	return out
}

func measured(throughput, p99 float64) *trial.Measurement {
	return &trial.Measurement{Members: []trial.Values{{trial.Throughput: throughput, trial.LatencyP99: p99}}}
}

// byThroughput compares as the score of one objective, throughput.
func byThroughput(a, b *trial.Measurement) float64 {
	x, y := a.Members[0][trial.Throughput], b.Members[0][trial.Throughput]
	if x+y == 0 {
		return 0
	}
	return (x - y) / ((x + y) / 2)
}

// p99Below returns the constraint on the latency, and how much a measurement misses it.
func p99Below(ms float64) (passes func(*trial.Measurement) bool, violation func(*trial.Measurement) float64) {
	passes = func(m *trial.Measurement) bool { return m.Members[0][trial.LatencyP99] <= ms }
	violation = func(m *trial.Measurement) float64 { return max(0, m.Members[0][trial.LatencyP99]/ms-1) }
	return passes, violation
}

// run runs a search to its end and returns the proposals and why it ended. A nil measurement is a
// failure.
func run(t testing.TB, o Options, measure func(n int, p trial.Proposal) *trial.Measurement) ([]trial.Proposal, string) {
	t.Helper()
	if o.Judge.Score == nil {
		o.Judge.Score = byThroughput
	}
	s, err := New(o)
	require.NoError(t, err)
	defer s.Stop()
	var all []trial.Proposal
	var last *trial.Result
	for {
		p, ok := s.Next(last)
		if !ok {
			return all, s.Reason()
		}
		require.Less(t, len(all), 5000, "the search does not end")
		last = &trial.Result{Proposal: p, Measurement: measure(len(all), p)}
		all = append(all, p)
		if last.Measurement == nil {
			last.Failure = &trial.Failure{Class: trial.Other}
		}
	}
}

// increasing is a server whose every trial is faster than the one before.
func increasing(n int, _ trial.Proposal) *trial.Measurement {
	return measured(math.Pow(1.02, float64(n)), 1)
}

func TestBruteCounts(t *testing.T) {
	t.Parallel()
	a, b, c := batching("a"), batching("b"), batching("c")
	listed := func(m Model, concurrency ...int) Model {
		m.Concurrency = concurrency
		return m
	}
	swept := func(m Model, batches, counts []int) Model {
		m.Patches = combinations(batches, counts)
		return m
	}
	for name, tc := range map[string]struct {
		space Space
		want  int
	}{
		"defaults":              {defaults(a), 451},
		"two models":            {limited(defaults(a, b), 2, 2, 2), 68},
		"two uneven models":     {limited(defaults(listed(a, 1, 2, 3), swept(b, []int{1, 4, 16}, []int{1, 2})), 2, 2, 2), 150},
		"three models":          {limited(defaults(a, listed(b, 1, 5, 9), swept(listed(c, 10, 20), []int{1, 64}, []int{1, 2, 3})), 2, 2, 2), 1164},
		"no batching":           {limited(defaults(Model{Name: "a"}), 128, 5, 2), 2 + 5*2},
		"request rates":         {Space{Models: []Model{a}, UseRequestRate: true, RequestRate: Range{Min: 16, Max: 64}, Concurrency: Range{Min: 1, Max: 1}, Instances: Range{Min: 1, Max: 2}, ModelBatch: Range{Min: 1, Max: 2}}, 3 + 4*3},
		"parameters, defaults":  {limited(defaults(swept(a, []int{8, 16}, []int{1, 2, 4})), 2, 2, 4), 3 + 6*3},
		"parameters and lists":  {defaults(swept(listed(a, 2, 4, 6, 8, 10, 12, 14, 16), []int{8, 16}, []int{1, 2, 4})), 8 + 6*8},
		"odd limits":            {limited(defaults(a), 9, 3, 5), 3 + 3*4*3},
		"one value of anything": {limited(defaults(a), 1, 1, 1), 2},
	} {
		all, reason := run(t, Options{Mode: Brute, Space: tc.space, Sweep: SweepOptions{Steps: 5, Top: 3}}, increasing)
		require.Equal(t, tc.want, len(all), name)
		require.Equal(t, "all configurations are measured, but those beyond a plateau of throughput", reason)
		require.True(t, len(all[0].Members[0].Patch) == 0, "%s: the default configuration is first", name)
	}
}

// TestBruteBacksOff checks the walks over the largest batch of two models: throughput that does not
// rise ends the walk of the inner model, or that of the outer one, which looks at the best of all
// trials of the inner model.
func TestBruteBacksOff(t *testing.T) {
	t.Parallel()
	o := Options{
		Mode:  Brute,
		Space: limited(defaults(batching("a"), batching("b")), 8, 2, 2),
		Sweep: SweepOptions{Disable: true},
	}
	for name, tc := range map[string]struct {
		exponent func(n int) int
		want     int
	}{
		"inner": {func(n int) int {
			if n == 6 || n == 7 {
				return 5
			}
			return n
		}, 256},
		"outer": {func(n int) int {
			if n >= 36 && n < 68 {
				return n - 36
			}
			return n
		}, 196},
	} {
		all, _ := run(t, o, func(n int, _ trial.Proposal) *trial.Measurement {
			return measured(math.Pow(2, float64(tc.exponent(n))), 1)
		})
		require.Equal(t, tc.want, len(all), name)
	}
	all, _ := run(t, o, func(n int, _ trial.Proposal) *trial.Measurement {
		if n == 67 {
			n = 1
		}
		return measured(float64(n), 1)
	})
	require.Equal(t, 260, len(all), "the best of all inner trials counts, not the last")
}
