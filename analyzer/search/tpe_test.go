package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

var defaultTPE = TPEOptions{Seed: 42, MinPercent: 5, MaxPercent: 10, Patience: 10}

func throughputOnly(throughput float64) *trial.Measurement {
	return &trial.Measurement{Members: []trial.Values{{trial.Throughput: throughput}}}
}

// runTPE runs the search and returns its proposals; replay answers the first of them.
func runTPE(t *testing.T, s Space, o TPEOptions, surface func(trial.Proposal) *trial.Measurement) ([]trial.Proposal, string) {
	t.Helper()
	algorithm, err := tpeAlgorithm(s, o)
	require.NoError(t, err)
	search := start(Options{Judge: Judge{Score: byThroughput}, Space: s}, algorithm)
	defer search.Stop()
	var all []trial.Proposal
	var last *trial.Result
	for {
		p, ok := search.Next(last)
		if !ok {
			return all, search.Reason()
		}
		all = append(all, p)
		last = &trial.Result{Measurement: surface(p)}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	patches := []trial.Patch{}
	for _, k := range []int{1, 3} {
		for _, delay := range []int{100, 200, 300} {
			patches = append(patches, trial.Patch{
				"instance_group":   []any{map[string]any{"count": k, "kind": "KIND_CPU"}},
				"dynamic_batching": map[string]any{"max_queue_delay_microseconds": delay},
			})
		}
	}
	m := Model{Name: "m", MaxBatch: 8}
	rates := defaults(m)
	rates.UseRequestRate = true
	for name, tc := range map[string]struct {
		space   Space
		formula bool
		want    []int // number of values of each parameter
	}{
		"automatic":    {defaults(m), false, []int{8, 5, 11}},
		"no batching":  {defaults(Model{Name: "m"}), false, []int{5, 11}},
		"formula":      {defaults(m), true, []int{8, 5}},
		"request rate": {rates, false, []int{8, 5, 10}},
		"lists": {
			defaults(Model{Name: "m", MaxBatch: 8, Patches: patches, Batches: []int{1, 2, 4}, Concurrency: []int{1, 8, 64, 256}}),
			false,
			[]int{3, 8, 2, 4, 3},
		},
		"ensemble": {defaults(Model{Name: "e", MaxBatch: 8, Ensemble: true, Composing: []Model{m, {Name: "n"}}}), false, []int{11, 8, 5, 5}},
		"bls":      {defaults(Model{Name: "b", MaxBatch: 8, Composing: []Model{m}}), false, []int{5, 11, 8, 5}},
		"two":      {defaults(m, m), false, []int{8, 5, 11, 8, 5, 11}},
	} {
		parts, err := partsOf(tc.space, tc.formula)
		require.NoError(t, err)
		var got []int
		for _, d := range parametersOf(parts) {
			got = append(got, d.count())
		}
		require.Equal(t, tc.want, got, name)
	}
	odd := exponential(Range{Min: 3, Max: 100})
	require.Equal(t, []int{3, 4, 64}, []int{odd.value(odd.low), odd.value(2), odd.value(odd.high)})

	_, err := tpeAlgorithm(defaults(Model{Name: "m", Patches: []trial.Patch{{"optimization": 1}, {"optimization": 2}}}), defaultTPE)
	require.ErrorContains(t, err, `model "m" lists several values of a parameter`)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o           TPEOptions
		least, most int
	}{
		"shares":           {TPEOptions{MinPercent: 5, MaxPercent: 10}, 22, 44},
		"numbers":          {TPEOptions{MinPercent: 5, MaxPercent: 10, MinTrials: 7, MaxTrials: 70}, 7, 70},
		"both":             {TPEOptions{MinPercent: 5, MaxPercent: 10, MinPercentSet: true, MaxPercentSet: true, MinTrials: 7, MaxTrials: 70}, 22, 44},
		"both, others win": {TPEOptions{MinPercent: 5, MaxPercent: 10, MinPercentSet: true, MaxPercentSet: true, MinTrials: 30, MaxTrials: 31}, 30, 31},
		"at least one":     {TPEOptions{MinPercent: 5, MaxPercent: 0}, 22, 1},
	} {
		least, most := tc.o.trialLimits(440)
		require.Equal(t, []int{tc.least, tc.most}, []int{least, most}, name)
	}
}

func TestProposals(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 8, CPUOnly: true}
	e := Model{Name: "e", MaxBatch: 8, Ensemble: true, Composing: []Model{m, {Name: "n", MaxBatch: 2}}}
	of := func(s Space, formula bool, point ...int) trial.ProposedMember {
		parts, err := partsOf(s, formula)
		require.NoError(t, err)
		return (&tpeSearch{measurer: &measurer{Options: Options{Space: s}}, parts: parts}).proposal(point).Members[0]
	}
	group := func(n int, kind string) []any { return []any{map[string]any{"count": n, "kind": kind}} }
	require.Equal(t, trial.ProposedMember{
		Model: "m",
		Patch: trial.Patch{"max_batch_size": 8, "instance_group": group(2, "KIND_CPU"), "dynamic_batching": map[string]any{}},
		Load:  trial.Load{Batch: 1, Concurrency: 64},
	}, of(defaults(m), false, 3, 2, 6))
	require.Equal(t, 2*8*2, of(defaults(m), true, 3, 2).Load.Concurrency)

	// Both limits hold for the formula; Model Analyzer loses the upper one.
	bounded := defaults(m)
	bounded.Concurrency = Range{Min: 10, Max: 20}
	require.Equal(t, 20, of(bounded, true, 3, 2).Load.Concurrency)
	require.Equal(t, 10, of(bounded, true, 0, 1).Load.Concurrency)

	got := of(defaults(e), false, 4, 3, 2, 5, 3)
	require.Equal(t, trial.Patch{"max_batch_size": 8}, got.Patch)
	require.Equal(t, 16, got.Load.Concurrency)
	require.Equal(t, group(3, "KIND_GPU"), got.Composing[1].Patch["instance_group"])
	require.Equal(t, 2*min(8*2, 32*3), of(defaults(e), true, 3, 2, 5, 3).Load.Concurrency)

	bls := of(defaults(Model{Name: "b", MaxBatch: 8, Composing: []Model{m}}), false, 3, 4, 5, 2)
	require.NotContains(t, bls.Patch, "max_batch_size")
	require.Equal(t, group(3, "KIND_GPU"), bls.Patch["instance_group"])
}

// TestFindsTheTop checks on a smooth surface that the search ends near its top, that equal seeds
// propose the same, and that other seeds do not.
func TestFindsTheTop(t *testing.T) {
	t.Parallel()
	s := defaults(Model{Name: "m", MaxBatch: 8, Instances: 1})
	surface := func(p trial.Proposal) *trial.Measurement {
		k, b := s.Models[0].Shape(p.Members[0].Patch)
		c := p.Members[0].Load.Concurrency
		d := func(x float64, n int) float64 { return (x - math.Log2(float64(n))) * (x - math.Log2(float64(n))) }
		return throughputOnly(1000 * math.Exp(-0.1*d(5, b)-0.2*d(2, k)-0.05*d(7, c)))
	}
	var shares float64
	first, reason := runTPE(t, s, defaultTPE, surface)
	require.Contains(t, reason, "of a space of 440")
	again, _ := runTPE(t, s, defaultTPE, surface)
	require.Equal(t, first, again)
	for seed := range uint64(20) {
		o := defaultTPE
		o.Seed = 1000 + seed
		other, _ := runTPE(t, s, o, surface)
		require.LessOrEqual(t, len(other), 45)
		require.NotEqual(t, first, other)
		best := 0.0
		for _, p := range other {
			best = max(best, surface(p).Throughput())
		}
		shares += best / 1000 / 20
	}
	require.Greater(t, shares, 0.8)
}

// TestLearns checks the estimator against random search: after the random start, its points are
// better on average.
func TestLearns(t *testing.T) {
	t.Parallel()
	score := func(p []int) float64 { return -math.Abs(float64(p[0]-40)) - 10*math.Abs(float64(p[1]-2)) }
	var early, late float64
	for seed := range uint64(20) {
		s := &sampler{
			rand: rand.New(rand.NewPCG(seed, seed)),
			dims: []*parameter{linear(Range{Min: 1, Max: 64}), choice([]int{5, 6, 7, 8})},
		}
		for n := range 60 {
			p := s.suggest()
			require.GreaterOrEqual(t, p[0], 1)
			require.LessOrEqual(t, p[0], 64)
			s.tell(p, score(p))
			switch {
			case n < startup:
				early += score(p) / startup
			case n >= 40:
				late += score(p) / 20
			}
		}
	}
	require.Greater(t, late, early/2, "at least twice as near to the top")
}

func TestDensities(t *testing.T) {
	t.Parallel()
	for _, seen := range [][]int{nil, {3}, {1, 1, 1, 64}, {64, 1, 33, 32, 31, 32}} {
		d := linear(Range{Min: 1, Max: 64})
		m := newMixture(d, seen)
		var sum float64
		for n := 1; n <= 64; n++ {
			require.Greater(t, m.mass(n), 0.0)
			sum += m.mass(n)
		}
		require.InDelta(t, 1, sum, 1e-9, seen)
	}
	require.InDeltaSlice(t, []float64{0.75, 0.25}, []float64(newFrequencies(2, []int{0})), 1e-9)
	w := weightsByAge(30)
	require.Equal(t, 1.0, w[29])
	require.Equal(t, 1.0, w[5])
	require.InDelta(t, 1./30, w[0], 1e-9)
}

func TestSplit(t *testing.T) {
	t.Parallel()
	s := &sampler{}
	for i := range 21 {
		s.tell([]int{i}, float64(i%7))
	}
	good, rest := s.split()
	require.Equal(t, []int{6, 13, 20}, column(good, 0))
	require.Len(t, rest, 18)
	require.True(t, rest[0].point[0] == 0 && rest[17].point[0] == 19, "by age")
}

func TestDefaultLoads(t *testing.T) {
	t.Parallel()
	m := Model{Name: "m", MaxBatch: 64, Instances: 2}
	first := func(s Space) trial.Load {
		all, _ := runTPE(t, s, defaultTPE, func(trial.Proposal) *trial.Measurement { return nil })
		return all[0].Members[0].Load
	}
	s := defaults(m)
	require.Equal(t, trial.Load{Batch: 1, Concurrency: 256}, first(s))
	s.UseRequestRate = true
	require.Equal(t, trial.Load{Batch: 1, RequestRate: 16}, first(s))
	m.Intervals = "times.txt"
	require.Equal(t, trial.Load{Batch: 1, Intervals: "times.txt"}, first(defaults(m)))
}

func TestDefaultFails(t *testing.T) {
	t.Parallel()
	all, reason := runTPE(t, defaults(Model{Name: "m"}), defaultTPE, func(trial.Proposal) *trial.Measurement { return nil })
	require.Len(t, all, 1)
	require.Equal(t, "Default configuration did not return a measurement. Please check PA/Tritonserver log files.", reason)
}
