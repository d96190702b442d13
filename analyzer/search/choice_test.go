package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// TestChoice checks which search a mode and the models lead to, by why it ends and by the
// concurrencies that only the sweep measures.
func TestChoice(t *testing.T) {
	t.Parallel()
	m := batching("m")
	ensemble := Model{Name: "e", MaxBatch: 4, Ensemble: true, Composing: []Model{batching("a"), batching("b")}}
	listed := m
	listed.Concurrency = []int{3}
	const brute, quick, optuna, planned = "all configurations are measured", "the best configuration", "of a space of", "expected gain"
	for name, tc := range map[string]struct {
		mode  Mode
		space Space
		want  string
		swept bool
	}{
		"brute":                  {Brute, limited(defaults(m), 2, 2, 64), brute, true},
		"default":                {"", limited(defaults(m), 2, 2, 64), brute, true},
		"brute over lists":       {Brute, limited(defaults(listed), 2, 2, 64), brute, false},
		"brute with an ensemble": {Brute, limited(defaults(ensemble), 2, 2, 64), quick, true},
		"manual":                 {Manual, limited(defaults(m), 2, 2, 64), "all listed configurations are measured", false},
		"quick":                  {Quick, limited(defaults(m), 2, 2, 64), quick, true},
		"quick, two models":      {Quick, limited(defaults(m, m), 2, 2, 64), quick, true},
		"optuna":                 {Optuna, limited(defaults(m), 2, 2, 64), optuna, true},
		"planned":                {Planned, limited(defaults(m), 2, 2, 64), planned, false},
		"planned, two models":    {Planned, limited(defaults(m, m), 2, 2, 64), quick, true},
		"planned with an ensemble": {
			Planned, limited(defaults(ensemble), 2, 2, 64), quick, true,
		},
	} {
		passes, violation := p99Below(70)
		boundary := 0
		_, reason := run(t, Options{
			Mode: tc.mode, Space: tc.space, Judge: Judge{Passes: passes, Violation: violation},
			Sweep: SweepOptions{Steps: 5, Top: 1}, TPE: TPEOptions{MinPercent: 5, MaxPercent: 10, Patience: 3},
		}, func(_ int, p trial.Proposal) *trial.Measurement {
			c := p.Members[0].Load.Concurrency
			if c == 48 || c == 24 || c == 12 || c == 6 {
				boundary++ // no power of two: measured by the bisection
			}
			return measured(100*float64(c), 8*float64(c))
		})
		require.Contains(t, reason, tc.want, name)
		if tc.want != planned {
			require.Equal(t, tc.swept, boundary > 0, name)
		}
	}
}

func TestChoiceErrors(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"a search needs a comparison of measurements": {Space: defaults(batching("m"))},
		`search mode "fast" is not one of`:            {Mode: "fast", Space: defaults(batching("m")), Judge: Judge{Score: byThroughput}},
		"no model to search":                          {Judge: Judge{Score: byThroughput}},
		"not compatible with Quick search mode": {Mode: Quick, Judge: Judge{Score: byThroughput}, Space: defaults(Model{
			Name: "e", Ensemble: true, Composing: []Model{{Name: "c", Patches: combinations([]int{1}, []int{1, 5})}},
		})},
	} {
		_, err := New(o)
		require.ErrorContains(t, err, want)
	}
}

// TestBruteOrder checks the order of the trials and the contents of the variants.
func TestBruteOrder(t *testing.T) {
	t.Parallel()
	m := batching("m")
	m.CPUOnly, m.Batches = true, []int{2, 1}
	all, _ := run(t, Options{Mode: Brute, Space: limited(defaults(m), 2, 2, 2), Sweep: SweepOptions{Disable: true}}, increasing)
	type row struct{ k, max, batch, concurrency int }
	var got []row
	for _, p := range all {
		k, b := m.Shape(p.Members[0].Patch)
		got = append(got, row{k, b, p.Members[0].Load.Batch, p.Members[0].Load.Concurrency})
	}
	want := []row{}
	for _, server := range [][2]int{{1, 4}, {1, 1}, {1, 2}, {2, 1}, {2, 2}} {
		for _, load := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
			want = append(want, row{server[0], server[1], load[0], load[1]})
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, trial.Patch{
		"max_batch_size": 1, "instance_group": []any{map[string]any{"count": 1, "kind": "KIND_CPU"}}, "dynamic_batching": map[string]any{},
	}, all[4].Members[0].Patch)

	// Searches over listed values add nothing of their own.
	m.Patches = combinations([]int{2, 4}, []int{1})
	all, _ = run(t, Options{Mode: Manual, Space: defaults(m)}, increasing)
	require.Equal(t, m.Patches[0], all[2].Members[0].Patch)
	require.Equal(t, 6, len(all))

	// Without any list, only the default remains.
	m.Patches = nil
	all, _ = run(t, Options{Mode: Manual, Space: defaults(m)}, increasing)
	require.Equal(t, 2, len(all))

	m.Intervals = "times.txt"
	all, _ = run(t, Options{Mode: Manual, Space: defaults(m)}, increasing)
	require.Equal(t, trial.Load{Batch: 1, Intervals: "times.txt"}, all[0].Members[0].Load)
}

// TestBrutePlateaus checks the early ends of the walk over loads, which a list of concurrencies
// prevents.
func TestBrutePlateaus(t *testing.T) {
	t.Parallel()
	m := batching("m")
	flat := func(int, trial.Proposal) *trial.Measurement { return measured(100, 1) }
	var lines []string
	o := Options{
		Mode: Brute, Space: limited(defaults(m), 1, 1, 1024),
		Notice: func(s string) { lines = append(lines, s) }, Sweep: SweepOptions{Disable: true},
	}
	all, _ := run(t, o, flat)
	require.Equal(t, 8, len(all))
	require.Equal(t, "No longer increasing concurrency as throughput has plateaued", lines[0])

	m.Concurrency = []int{1, 2, 3, 4, 5, 6}
	o.Space.Models = []Model{m}
	all, _ = run(t, o, flat)
	require.Equal(t, 12, len(all))
	o.Space.EarlyExit = true
	all, _ = run(t, o, flat)
	require.Equal(t, 8, len(all))

	// A failure ends the walk of its variant.
	all, _ = run(t, o, func(n int, _ trial.Proposal) *trial.Measurement {
		if n == 1 {
			return nil
		}
		return measured(100*float64(n+1), 1)
	})
	require.Equal(t, 2+6, len(all))

	m.Concurrency, m.Batches = nil, []int{1, 2, 4, 8, 16, 32}
	o.Space.Models, lines = []Model{m}, nil
	all, _ = run(t, o, flat)
	require.Equal(t, 4*4*2, len(all))
	require.Contains(t, lines, "No longer increasing client batch size as throughput has plateaued")
}
