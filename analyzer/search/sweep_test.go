package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// sweepLoads sweeps the loads of one configuration and returns the load values.
func sweepLoads(t *testing.T, s Space, budget float64, measure func(n, load int) *trial.Measurement) (values []int) {
	t.Helper()
	o := Options{Space: s, Judge: Judge{Score: byThroughput}}
	if budget > 0 {
		o.Judge.Passes, o.Judge.Violation = p99Below(budget)
	}
	search := start(o, func(t *measurer) string {
		sweepLoad(t, trial.Proposal{Members: []trial.ProposedMember{{Model: "a"}}}, 5)
		return ""
	})
	defer search.Stop()
	var last *trial.Result
	for {
		p, ok := search.Next(last)
		if !ok {
			return values
		}
		load := p.Members[0].Load
		require.Equal(t, 1, load.Batch)
		v := load.Concurrency + load.RequestRate
		last = &trial.Result{Measurement: measure(len(values), v)}
		values = append(values, v)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	doubles := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
	linear := func(ms float64) func(n, load int) *trial.Measurement {
		return func(_, load int) *trial.Measurement { return measured(100*float64(load), ms*float64(load)) }
	}
	listed := func(throughput ...float64) func(n, load int) *trial.Measurement {
		return func(n, _ int) *trial.Measurement {
			if f := throughput[min(n, len(throughput)-1)]; f > 0 {
				return measured(f, 1)
			}
			return nil
		}
	}
	concurrency := defaults(batching("a"))
	rate := concurrency
	rate.UseRequestRate = true
	narrow := func(least, most int, soft bool) Space {
		s := concurrency
		s.Concurrency = Range{Min: least, Max: most, Soft: soft}
		return s
	}
	for name, tc := range map[string]struct {
		space   Space
		budget  float64
		measure func(n, load int) *trial.Measurement
		want    []int
	}{
		"all":            {concurrency, 0, linear(10), doubles},
		"request rates":  {rate, 0, linear(10), []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}},
		"saturated":      {concurrency, 0, listed(100, 200, 400, 800, 1000), doubles[:8]},
		"down":           {concurrency, 95, linear(10), append(doubles[:11:11], 12, 10, 9)},
		"down, then up":  {concurrency, 155, linear(10), append(doubles[:11:11], 12, 14, 15)},
		"five steps":     {concurrency, 970, linear(1), append(doubles[:11:11], 768, 896, 960, 992, 976)},
		"at the minimum": {rate, 85, linear(10), []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 8, 12, 10, 9}},
		// An early violation does not count if a higher load meets the constraints.
		"two areas": {concurrency, 155, func(_, load int) *trial.Measurement {
			if load == 2 {
				return measured(200, 200)
			}
			return measured(100*float64(load), 10*float64(load))
		}, append(doubles[:11:11], 12, 14, 15)},
		// Model Analyzer overlooks the boundary between the first two values.
		"first boundary":      {narrow(1, 2, true), 15, linear(10), []int{1, 2}},
		"wide first boundary": {narrow(8, 16, true), 115, linear(10), []int{8, 16, 12, 10, 11}},
		"one value":           {narrow(8, 8, true), 45, linear(10), []int{8, 4, 6, 5}},
		"the user's minimum":  {narrow(8, 16, false), 45, linear(10), []int{8, 16}},
		"odd limits":          {narrow(3, 11, false), 0, linear(10), []int{3, 4, 8}},
		"failures first":      {concurrency, 0, listed(0, 0, 100, 200, 300, 300), doubles[:8]},
		"only failures":       {concurrency, 0, listed(0), doubles[:4]},
	} {
		require.Equal(t, tc.want, sweepLoads(t, tc.space, tc.budget, tc.measure), name)
	}
}

// TestSweepKeepsClients checks that the sweep leaves the size of the requests and the server alone.
func TestSweepKeepsClients(t *testing.T) {
	t.Parallel()
	s := defaults(batching("a"), batching("b"))
	p := trial.Proposal{Members: []trial.ProposedMember{
		{Model: "a", Patch: trial.Patch{"max_batch_size": 2}, Load: trial.Load{Batch: 4, Concurrency: 1}},
		{Model: "b", Load: trial.Load{Batch: 1, Concurrency: 1}},
	}}
	got := s.WithLoad(p, 7)
	require.Equal(t, trial.Load{Batch: 4, Concurrency: 7}, got.Members[0].Load)
	require.Equal(t, trial.Load{Batch: 1, Concurrency: 7}, got.Members[1].Load)
	require.Equal(t, serverKey(p), serverKey(got))
	require.Equal(t, 1, p.Members[0].Load.Concurrency, "the proposal itself stays")
}
