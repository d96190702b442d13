package planner

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/metric"
	"triton/analyzer/search/space"
	"triton/analyzer/search/trials"
	"triton/analyzer/trial"
)

func defaults(m space.Model) space.Space {
	return space.Space{
		Models:      []space.Model{m},
		Concurrency: space.Range{Min: 1, Max: 1024, Soft: true},
		RequestRate: space.Range{Min: 16, Max: 8192, Soft: true},
		Instances:   space.Range{Min: 1, Max: 5, Soft: true},
		ModelBatch:  space.Range{Min: 1, Max: 128, Soft: true},
	}
}

var model = space.Model{Name: "m", MaxBatch: 8, Instances: 1}

func measured(throughput, p99 float64) *trial.Measurement {
	return &trial.Measurement{Members: []metric.Values{{metric.Throughput: throughput, metric.LatencyP99: p99}}}
}

func byThroughput(a, b *trial.Measurement) float64 {
	x, y := trials.Throughput(a), trials.Throughput(b)
	return (x - y) / ((x + y) / 2)
}

func below(ms float64) func(*trial.Measurement) bool {
	return func(m *trial.Measurement) bool { return m.Members[0][metric.LatencyP99] <= ms }
}

// run runs a search and returns its results and why it ended.
func run(t *testing.T, s space.Space, o Options, env trials.Options, answer func(trial.Proposal) *trial.Result) (all []*trial.Result, reason string) {
	t.Helper()
	algorithm, err := Algorithm(s, o)
	require.NoError(t, err)
	env.Space, env.Compare = s, byThroughput
	search := trials.Start(env, algorithm)
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

func best(all []*trial.Result) *trial.Result {
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
	k, b := model.Shape(p.Members[0].Patch)
	c := float64(p.Members[0].Load.Concurrency)
	rows := min(float64(b), c/float64(k))
	time := (2 + 0.05*rows + max(0, rows-16)) * max(1, float64(k)/4)
	x := min(float64(k), c) * rows / time * 1000
	return measured(x, 1000*c/x*1.1)
}

func result(m *trial.Measurement) *trial.Result { return &trial.Result{Measurement: m} }

func TestFindsTheKnee(t *testing.T) {
	t.Parallel()
	all, reason := run(t, defaults(model), Options{}, trials.Options{}, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
	require.Contains(t, reason, "the expected gain of any other configuration is below 1 %: at most ")
	require.Less(t, len(all), 30)
	require.True(t, trials.IsDefault(all[0].Proposal), "the user's configuration is first")
	k, b := model.Shape(best(all).Proposal.Members[0].Patch)
	require.GreaterOrEqual(t, k, 4)
	require.GreaterOrEqual(t, b, 16)
	for _, r := range all {
		require.GreaterOrEqual(t, r.Proposal.Precision, finePrecision)
		require.LessOrEqual(t, r.Proposal.Precision, coarsePrecision)
	}
}

func TestMeetsTheConstraint(t *testing.T) {
	t.Parallel()
	env := trials.Options{Judge: trials.Judge{Passes: below(6)}}
	all, _ := run(t, defaults(model), Options{}, env, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
	top := 0.0
	for _, r := range all {
		if env.Passes(r.Measurement) {
			top = max(top, trials.Throughput(r.Measurement))
		}
	}
	// At 6 ms: four instances with batches of 16 take 2.8 ms; two rounds and the tail do not fit.
	require.Greater(t, top, 20_000.0)

	env.Passes = below(0.1)
	all, reason := run(t, defaults(model), Options{}, env, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
	require.Contains(t, reason, "no configuration meets the constraints, and no other is expected to")
	require.Less(t, len(all), 12)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	fail := func(c trial.Class) func(trial.Proposal) *trial.Result {
		return func(trial.Proposal) *trial.Result { return &trial.Result{Failure: &trial.Failure{Class: c}} }
	}
	all, reason := run(t, defaults(model), Options{}, trials.Options{}, fail(trial.Other))
	require.Equal(t, "none of 4 trials could be measured", reason)
	require.Len(t, all, 4)

	_, reason = run(t, defaults(model), Options{}, trials.Options{}, fail(trial.OutOfGPUMemoryAtLoad))
	require.Contains(t, reason, "could be measured")

	r := rand.New(rand.NewPCG(1, 1))
	all, reason = run(t, defaults(model), Options{MaxTrials: 7}, trials.Options{}, func(trial.Proposal) *trial.Result {
		return result(measured(100*math.Exp(2*r.NormFloat64()), 1))
	})
	require.Equal(t, "the maximum of 7 measurements is reached", reason)
	require.Len(t, all, 7)

	// Broken measurements are none.
	_, reason = run(t, defaults(model), Options{}, trials.Options{}, func(trial.Proposal) *trial.Result {
		return result(measured(math.NaN(), 0))
	})
	require.Equal(t, "none of 4 trials could be measured", reason)

	_, err := Algorithm(space.Space{Models: []space.Model{model, model}}, Options{})
	require.Error(t, err)
}

// TestMemory checks that the search finds out what fits, and stays below it.
func TestMemory(t *testing.T) {
	t.Parallel()
	size := func(p trial.Proposal) int {
		k, b := model.Shape(p.Members[0].Patch)
		return k * (10 + b)
	}
	failed := 0
	all, _ := run(t, defaults(model), Options{}, trials.Options{}, func(p trial.Proposal) *trial.Result {
		if size(p) > 60 {
			failed++
			return &trial.Result{Failure: &trial.Failure{Class: trial.OutOfGPUMemoryAtLoad}}
		}
		return result(parallel4(p))
	})
	require.LessOrEqual(t, failed, 10)
	require.Greater(t, trials.Throughput(best(all).Measurement), 5_000.0)
}

// TestAxes checks that the search finds the values of further axes that help, and that it tries
// each axis.
func TestAxes(t *testing.T) {
	t.Parallel()
	axes := []Axis{Delays(100, 500), Threads(1, 2, 4), Cache(), Preferred(4)}
	tried := map[string]bool{}
	all, _ := run(t, defaults(model), Options{Axes: axes, MaxTrials: 60}, trials.Options{}, func(p trial.Proposal) *trial.Result {
		m := parallel4(p)
		patch := p.Members[0].Patch
		for _, key := range []string{"parameters", "response_cache"} {
			if patch[key] != nil {
				tried[key] = true
			}
		}
		x := trials.Throughput(m)
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
	top := best(all).Proposal.Members[0].Patch
	require.Equal(t, "2", top["parameters"].(map[string]any)["intra_op_thread_count"].(map[string]any)["string_value"])
	require.NotContains(t, top["dynamic_batching"], "max_queue_delay_microseconds")
}

// TestPredict checks that a good predictor saves measurements, and that a bad one does no harm.
func TestPredict(t *testing.T) {
	t.Parallel()
	search := func(predict func(trial.Proposal) (float64, float64, bool)) (float64, int) {
		all, _ := run(t, defaults(model), Options{Predict: predict}, trials.Options{}, func(p trial.Proposal) *trial.Result { return result(parallel4(p)) })
		return trials.Throughput(best(all).Measurement), len(all)
	}
	plain, _ := search(nil)
	good, n := search(func(p trial.Proposal) (float64, float64, bool) {
		m := parallel4(p)
		return trials.Throughput(m), m.Members[0][metric.LatencyP99], true
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
	s := defaults(model)
	s.UseRequestRate = true
	all, _ := run(t, s, Options{}, trials.Options{Judge: trials.Judge{Passes: below(50)}}, func(p trial.Proposal) *trial.Result {
		k, b := model.Shape(p.Members[0].Patch)
		capacity := 300 * float64(min(k, 4)) * math.Sqrt(float64(min(b, 32)))
		rate := float64(p.Members[0].Load.RequestRate)
		use := min(rate/capacity, 0.999)
		return result(measured(min(rate, capacity), 5/(1-use)))
	})
	top := 0.0
	for _, r := range all {
		require.Positive(t, r.Proposal.Members[0].Load.RequestRate)
		if r.Measurement.Members[0][metric.LatencyP99] <= 50 {
			top = max(top, trials.Throughput(r.Measurement))
		}
	}
	require.Greater(t, top, 0.75*0.9*300*4*math.Sqrt(32))
}

// TestProcess checks the process against what it must do: it goes through exact measurements, is
// sure there, and knows nothing far away.
func TestProcess(t *testing.T) {
	t.Parallel()
	g := newGrid(defaults(model), nil)
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
	g := newGrid(defaults(model), nil)
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
