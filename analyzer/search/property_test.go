package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

var modes = []Mode{Brute, Manual, Quick, Optuna, Planned}

// randomOptions returns a small search with random limits, lists and models.
func randomOptions(r *rand.Rand, mode Mode) Options {
	between := func(most int) Range {
		low := 1 + r.IntN(most)
		return Range{Min: low, Max: low + r.IntN(most), Soft: r.IntN(2) == 0}
	}
	list := func(most int) []int {
		if r.IntN(3) > 0 {
			return nil
		}
		out := make([]int, 1+r.IntN(3))
		for i := range out {
			out[i] = 1 + r.IntN(most)
		}
		return out
	}
	model := func(name string) Model {
		m := Model{
			Name: name, MaxBatch: r.IntN(3) * 4, Instances: r.IntN(3), Sequence: r.IntN(4) == 0, CPUOnly: r.IntN(2) == 0,
			Batches: list(8), Concurrency: list(64), RequestRates: list(64),
		}
		if r.IntN(5) == 0 {
			m.Intervals = "times.txt"
		}
		return m
	}
	s := Space{
		Models:      []Model{model("a")},
		Concurrency: between(64), RequestRate: between(64), Instances: between(4), ModelBatch: between(16),
		UseRequestRate: r.IntN(3) == 0, EarlyExit: r.IntN(2) == 0, Unbounded: r.IntN(4) == 0, Disabled: r.IntN(6) == 0,
	}
	switch r.IntN(5) {
	case 0:
		s.Models = append(s.Models, model("b"))
	case 1:
		s.Models[0].Composing = []Model{model("c"), model("d")}
		s.Models[0].Ensemble = r.IntN(2) == 0
	case 2:
		if mode != Quick {
			s.Models[0].Patches = combinations([]int{1, 4, 16}[:1+r.IntN(3)], []int{1, 2, 3}[:1+r.IntN(3)])
		}
	}
	return Options{
		Mode: mode, Space: s, Judge: Judge{Score: byThroughput},
		Sweep:   SweepOptions{Disable: r.IntN(3) == 0, Steps: r.IntN(6), Top: r.IntN(4)},
		TPE:     TPEOptions{Seed: r.Uint64(), MinPercent: 5, MaxPercent: 20, MaxTrials: r.IntN(60), Patience: 1 + r.IntN(10), Formula: r.IntN(3) == 0},
		Planner: PlannerOptions{MaxTrials: 25, Axes: []Axis{Delays(100, 500), Cache()}},
	}
}

// size is the memory that a proposal takes.
func size(s Space, p trial.Proposal) (bytes int) {
	for i, m := range p.Members {
		k, b := s.Models[i].Shape(m.Patch)
		bytes += k * (2 + b)
		for n, c := range m.Composing {
			k, b := s.Models[i].Composing[n].Shape(c.Patch)
			bytes += k * (2 + b)
		}
	}
	return bytes
}

// checkSearch runs a search over a surface with random failures and checks what holds for every
// search: it ends and says why; it proposes nothing twice, nothing outside of the limits and
// nothing that is known not to fit; and given the same results it proposes the same.
func checkSearch(t *testing.T, seed uint64, mode Mode) {
	r := rand.New(rand.NewPCG(seed, 7))
	o := randomOptions(r, mode)
	o.Space.Disabled = o.Space.Disabled || mode == Manual
	if r.IntN(2) == 0 {
		o.Judge.Passes, o.Judge.Violation = p99Below(1 + 100*r.Float64())
	}
	memory := math.MaxInt // where loads begin to fail
	if r.IntN(2) == 0 {
		memory = 10 + r.IntN(100)
	}
	failing := r.Float64() * float64(r.IntN(2))

	s, err := New(o)
	require.NoError(t, err)
	defer s.Stop()
	var results []*trial.Result
	var failedSizes []trial.Proposal
	seen := map[string]bool{}
	var last *trial.Result
	for {
		p, ok := s.Next(last)
		if !ok {
			break
		}
		require.Less(t, len(results), 3000, "the search does not end")
		key := proposalKey(p)
		require.False(t, seen[key], "proposed twice: %s", key)
		seen[key] = true
		checkLimits(t, o, p)
		for _, f := range failedSizes {
			require.False(t, covers(o.Space, p, f), "%s is larger than a configuration that failed", key)
		}
		last = &trial.Result{Proposal: p}
		switch {
		case size(o.Space, p) > memory:
			last.Failure = &trial.Failure{Class: trial.OutOfGPUMemoryAtLoad}
			failedSizes = append(failedSizes, p)
		case r.Float64() < failing:
			last.Failure = &trial.Failure{Class: trial.Other}
		default:
			last.Measurement = randomSurface(o.Space, r, p)
		}
		results = append(results, last)
	}
	require.NotEmpty(t, s.Reason())
	_, ok := s.Next(last)
	require.False(t, ok, "an ended search stays ended")

	again, err := New(o)
	require.NoError(t, err)
	defer again.Stop()
	last = nil
	for _, want := range results {
		p, ok := again.Next(last)
		require.True(t, ok)
		require.Equal(t, proposalKey(want.Proposal), proposalKey(p), "the replay differs")
		require.Equal(t, want.Proposal.Precision, p.Precision)
		last = want
	}
	_, ok = again.Next(last)
	require.False(t, ok)
	require.Equal(t, s.Reason(), again.Reason())
}

// covers reports whether p is at least as large as f in every model, with the same rest.
func covers(s Space, p, f trial.Proposal) bool {
	larger := func(m Model, a, b trial.ProposedMember) bool {
		k, n := m.Shape(a.Patch)
		fk, fn := m.Shape(b.Patch)
		return m.Other(a.Patch) == m.Other(b.Patch) && k >= fk && n >= fn
	}
	for i, m := range p.Members {
		if !larger(s.Models[i], m, f.Members[i]) {
			return false
		}
		for n, c := range m.Composing {
			if !larger(s.Models[i].Composing[n], c, f.Members[i].Composing[n]) {
				return false
			}
		}
	}
	return true
}

func randomSurface(s Space, r *rand.Rand, p trial.Proposal) *trial.Measurement {
	m := &trial.Measurement{}
	for i, member := range p.Members {
		k, b := s.Models[i].Shape(member.Patch)
		load := float64(member.Load.Concurrency + member.Load.RequestRate + 1)
		x := 100 * math.Sqrt(float64(k*(b+1))) * load / (load + 10) * (1 + 0.2*r.Float64())
		m.Members = append(m.Members, trial.Values{trial.Throughput: x, trial.LatencyP99: 1000 * load / x})
	}
	return m
}

// checkLimits checks the configurations and loads of a proposal against the limits or the user's
// lists. The default configuration may be anything; the bisection may go below a minimum that the
// user did not set.
func checkLimits(t *testing.T, o Options, p trial.Proposal) {
	t.Helper()
	inside := func(what string, n int, r Range, list []int) {
		t.Helper()
		switch {
		case slices.Contains(list, n):
		case r.Soft && o.Space.Unbounded && what != "load":
		case what == "load" && r.Soft:
			require.LessOrEqual(t, n, r.Max, what)
			require.GreaterOrEqual(t, n, 1, what)
		case what == "load" && o.Space.Disabled && n == 1:
		default:
			require.LessOrEqual(t, n, r.Max, what)
			require.GreaterOrEqual(t, n, r.Min, what)
		}
	}
	server := func(m Model, member trial.ProposedMember) {
		if len(member.Patch) == 0 || m.Ensemble {
			return
		}
		k, b := m.Shape(member.Patch)
		if _, set := member.Patch["instance_group"]; set {
			inside("instances", k, o.Space.Instances, m.Counts())
		}
		if _, set := member.Patch["max_batch_size"]; set {
			inside("max batch", b, o.Space.ModelBatch, m.BatchSizes())
		}
	}
	for i, member := range p.Members {
		m := o.Space.Models[i]
		server(m, member)
		for n, c := range member.Composing {
			server(m.Composing[n], c)
		}
		switch {
		case m.Intervals != "":
			require.Equal(t, trial.Load{Batch: member.Load.Batch, Intervals: m.Intervals}, member.Load)
		case o.Mode == Planned && len(o.Space.Models) == 1 && !o.Space.Composing() && len(m.Concurrency) > 0 && !o.Space.UseRequestRate:
			require.Contains(t, m.Concurrency, member.Load.Concurrency, "only the listed loads")
		case member.Load.Concurrency > 0:
			inside("load", member.Load.Concurrency, o.Space.Concurrency, m.Concurrency)
		case member.Load.RequestRate > 0:
			inside("load", member.Load.RequestRate, o.Space.RequestRate, m.RequestRates)
		default:
			require.Fail(t, "no load")
		}
		require.GreaterOrEqual(t, member.Load.Batch, 1)
	}
}

func TestEverySearch(t *testing.T) {
	t.Parallel()
	n := uint64(60)
	if testing.Short() {
		n = 15
	}
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			n := n
			if mode == Planned {
				n /= 3 // takes longest
			}
			for seed := range n {
				checkSearch(t, seed, mode)
				if t.Failed() {
					t.Logf("seed %d", seed)
					return
				}
			}
		})
	}
}

func FuzzSearch(f *testing.F) {
	for i := range modes {
		f.Add(uint64(100+i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, mode uint8) {
		checkSearch(t, seed, modes[int(mode)%len(modes)])
	})
}
