package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

func below(ms float64) func(*trial.Measurement) bool {
	return func(m *trial.Measurement) bool { return m.Members[0][trial.LatencyP99] <= ms }
}

// runPlanner runs a search and returns its results and why it ended.
func runPlanner(t *testing.T, s Space, o PlannerOptions, env Options, answer func(trial.Proposal) *trial.Result) (all []*trial.Result, reason string) {
	t.Helper()
	algorithm, err := plannerAlgorithm(s, o)
	require.NoError(t, err)
	env.Space, env.Judge.Score = s, byThroughput
	search := start(env, algorithm)
	defer search.Stop()
	var last *trial.Result
	for {
		p, ok := search.Next(last)
		if !ok {
			return all, search.Reason()
		}
		last = answer(p)
		last.Proposal = p
		all = append(all, last)
	}
}

func bestOf(all []*trial.Result) *trial.Result {
	var top *trial.Result
	for _, r := range all {
		if r.Measurement != nil && (top == nil || byThroughput(r.Measurement, top.Measurement) > 0) {
			top = r
		}
	}
	return top
}

// parallel4 is a server in which four instances run without slowing each other down, and a batch
// of up to 16 rows costs little more than one row.
func parallel4(p trial.Proposal) *trial.Measurement {
	k, b := server.Shape(p.Members[0].Patch)
	c := float64(p.Members[0].Load.Concurrency)
	rows := min(float64(b), c/float64(k))
	time := (2 + 0.05*rows + max(0, rows-16)) * max(1, float64(k)/4)
	x := min(float64(k), c) * rows / time * 1000
	return measured(x, 1000*c/x*1.1)
}

func result(m *trial.Measurement) *trial.Result { return &trial.Result{Measurement: m} }

func TestFindsTheKnee(t *testing.T) {
	t.Parallel()
	all, reason := runPlanner(t, defaults(server), PlannerOptions{}, Options{}, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
	require.Contains(t, reason, "the expected gain of any other configuration is below 1 %: at most ")
	require.Less(t, len(all), 30)
	require.True(t, isDefault(all[0].Proposal), "the user's configuration is first")
	k, b := server.Shape(bestOf(all).Proposal.Members[0].Patch)
	require.GreaterOrEqual(t, k, 4)
	require.GreaterOrEqual(t, b, 16)
	for _, r := range all {
		require.GreaterOrEqual(t, r.Proposal.Precision, finePrecision)
		require.LessOrEqual(t, r.Proposal.Precision, coarsePrecision)
	}
}

func TestMeetsTheConstraint(t *testing.T) {
	t.Parallel()
	env := Options{Judge: Judge{Passes: below(6)}}
	all, _ := runPlanner(t, defaults(server), PlannerOptions{}, env, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
	top := 0.0
	for _, r := range all {
		if env.Judge.Passes(r.Measurement) {
			top = max(top, r.Measurement.Throughput())
		}
	}
	// At 6 ms: four instances with batches of 16 take 2.8 ms; two rounds and the tail do not fit.
	require.Greater(t, top, 20_000.0)

	env.Judge.Passes = below(0.1)
	all, reason := runPlanner(t, defaults(server), PlannerOptions{}, env, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
	require.Contains(t, reason, "no configuration meets the constraints, and no other is expected to")
	require.Less(t, len(all), 12)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	fail := func(c trial.Class) func(trial.Proposal) *trial.Result {
		return func(trial.Proposal) *trial.Result { return &trial.Result{Failure: &trial.Failure{Class: c}} }
	}
	all, reason := runPlanner(t, defaults(server), PlannerOptions{}, Options{}, fail(trial.Other))
	require.Equal(t, "none of 4 trials could be measured", reason)
	require.Len(t, all, 4)

	_, reason = runPlanner(t, defaults(server), PlannerOptions{}, Options{}, fail(trial.OutOfGPUMemoryAtLoad))
	require.Contains(t, reason, "could be measured")

	r := rand.New(rand.NewPCG(1, 1))
	all, reason = runPlanner(t, defaults(server), PlannerOptions{MaxTrials: 7}, Options{}, func(trial.Proposal) *trial.Result {
		return result(measured(100*math.Exp(2*r.NormFloat64()), 1))
	})
	require.Equal(t, "the maximum of 7 measurements is reached", reason)
	require.Len(t, all, 7)

	// Broken measurements are none.
	_, reason = runPlanner(t, defaults(server), PlannerOptions{}, Options{}, func(trial.Proposal) *trial.Result {
		return result(measured(math.NaN(), 0))
	})
	require.Equal(t, "none of 4 trials could be measured", reason)

	_, err := plannerAlgorithm(Space{Models: []Model{server, server}}, PlannerOptions{})
	require.Error(t, err)
}

// TestMemory checks that the search finds out what fits, and stays below it.
func TestMemory(t *testing.T) {
	t.Parallel()
	size := func(p trial.Proposal) int {
		k, b := server.Shape(p.Members[0].Patch)
		return k * (10 + b)
	}
	failed := 0
	all, _ := runPlanner(t, defaults(server), PlannerOptions{}, Options{}, func(p trial.Proposal) *trial.Result {
		if size(p) > 60 {
			failed++
			return &trial.Result{Failure: &trial.Failure{Class: trial.OutOfGPUMemoryAtLoad}}
		}
		return result(parallel4(p))
	})
	require.LessOrEqual(t, failed, 10)
	require.Greater(t, bestOf(all).Measurement.Throughput(), 5_000.0)
}

// TestAxes checks that the search finds the values of further axes that help, and that it tries
// each axis.
func TestAxes(t *testing.T) {
	t.Parallel()
	axes := []Axis{Delays(100, 500), Threads(1, 2, 4), Cache(), Preferred(4)}
	tried := map[string]bool{}
	all, _ := runPlanner(t, defaults(server), PlannerOptions{Axes: axes, MaxTrials: 60}, Options{}, func(p trial.Proposal) *trial.Result {
		m := parallel4(p)
		patch := p.Members[0].Patch
		for _, key := range []string{"parameters", "response_cache"} {
			if patch[key] != nil {
				tried[key] = true
			}
		}
		x := m.Throughput()
		if parameters, ok := patch["parameters"].(map[string]any); ok {
			if threads, ok := parameters["intra_op_thread_count"].(map[string]any); ok && threads["string_value"] == "2" {
				x *= 1.4
			}
		}
		if batcher, ok := patch["dynamic_batching"].(map[string]any); ok && batcher["max_queue_delay_microseconds"] != nil {
			x *= 0.7
		}
		return result(measured(x, 1000*float64(p.Members[0].Load.Concurrency)/x))
	})
	require.True(t, tried["parameters"] && tried["response_cache"])
	top := bestOf(all).Proposal.Members[0].Patch
	require.Equal(t, "2", top["parameters"].(map[string]any)["intra_op_thread_count"].(map[string]any)["string_value"])
	require.NotContains(t, top["dynamic_batching"], "max_queue_delay_microseconds")
}

// TestPredict checks that a good predictor saves measurements, and that a bad one does no harm.
func TestPredict(t *testing.T) {
	t.Parallel()
	search := func(predict func(trial.Proposal) (float64, float64, bool)) (float64, int) {
		all, _ := runPlanner(t, defaults(server), PlannerOptions{Predict: predict}, Options{}, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
		return bestOf(all).Measurement.Throughput(), len(all)
	}
	plain, _ := search(nil)
	good, n := search(func(p trial.Proposal) (float64, float64, bool) {
		m := parallel4(p)
		return m.Throughput(), m.Members[0][trial.LatencyP99], true
	})
	require.GreaterOrEqual(t, good, 0.99*plain)
	require.LessOrEqual(t, n, 20)
	for _, bad := range []func(trial.Proposal) (float64, float64, bool){
		func(trial.Proposal) (float64, float64, bool) { return 0, 0, false },
		func(trial.Proposal) (float64, float64, bool) { return math.NaN(), -1, true },
		func(p trial.Proposal) (float64, float64, bool) {
			return 1 / float64(p.Members[0].Load.Concurrency), 1, true
		},
	} {
		x, _ := search(bad)
		require.Greater(t, x, 0.9*plain)
	}
}

func TestRequestRates(t *testing.T) {
	t.Parallel()
	s := defaults(server)
	s.UseRequestRate = true
	all, _ := runPlanner(t, s, PlannerOptions{}, Options{Judge: Judge{Passes: below(50)}}, func(p trial.Proposal) *trial.Result {
		k, b := server.Shape(p.Members[0].Patch)
		capacity := 300 * float64(min(k, 4)) * math.Sqrt(float64(min(b, 32)))
		rate := float64(p.Members[0].Load.RequestRate)
		use := min(rate/capacity, 0.999)
		return result(measured(min(rate, capacity), 5/(1-use)))
	})
	top := 0.0
	for _, r := range all {
		require.Positive(t, r.Proposal.Members[0].Load.RequestRate)
		if r.Measurement.Members[0][trial.LatencyP99] <= 50 {
			top = max(top, r.Measurement.Throughput())
		}
	}
	require.Greater(t, top, 0.75*0.9*300*4*math.Sqrt(32))
}

// TestProcess checks the process against what it must do: it goes through exact measurements, is
// sure there, and knows nothing far away.
func TestProcess(t *testing.T) {
	t.Parallel()
	g := newGrid(defaults(server), nil)
	at := func(k, b, c int) *point {
		return g.point(g.model.Patch(nil, k, b), nil, trial.Load{Batch: 1, Concurrency: c})
	}
	seen := []observation{{point: at(1, 1, 1)}, {point: at(2, 8, 32)}, {point: at(5, 128, 1024)}}
	p := newProcess(seen, 0.3, 1e-4)
	residuals := []float64{0.2, -0.1, 0.05}
	weights := p.solve(residuals)
	buffer := make([]float64, len(seen))
	for i, o := range seen {
		deviation := p.at(o.point, buffer)
		require.InDelta(t, residuals[i], dot(buffer, weights), 1e-3)
		require.InDelta(t, 0, deviation, 1e-3)
	}
	deviation := p.at(at(1, 128, 1024), buffer)
	require.Greater(t, deviation, 0.25)
	require.Greater(t, p.likelihood([]float64{0, 0, 0}), p.likelihood([]float64{1, 1, 1}))
}

// TestCostRecovers checks that the cost models include one near the truth.
func TestCostRecovers(t *testing.T) {
	t.Parallel()
	g := newGrid(defaults(server), nil)
	truth := cost{row: 0.15, parallel: 2.8, outside: 0.3, forming: 1, scale: 0.004}
	var seen []observation
	for _, v := range [][3]int{{1, 8, 16}, {1, 1, 1}, {1, 16, 32}, {4, 16, 128}, {2, 4, 64}} {
		o := observation{point: g.point(g.model.Patch(nil, v[0], v[1]), nil, trial.Load{Batch: 1, Concurrency: v[2]}), noise: 0.01}
		o.throughput, o.p99 = truth.predict(o.point)
		o.m = measured(o.throughput, o.p99)
		seen = append(seen, o)
	}
	f := newForecaster(seen, nil)
	for _, v := range [][3]int{{3, 32, 256}, {5, 8, 100}, {2, 64, 512}} {
		x := g.point(g.model.Patch(nil, v[0], v[1]), nil, trial.Load{Batch: 1, Concurrency: v[2]})
		want, _ := truth.predict(x)
		got := f.at(x)
		require.InEpsilon(t, want, got.throughput, 0.15, v)
		require.Less(t, math.Abs(math.Log(got.throughput/want)), 3*got.spread+0.02)
	}
}
