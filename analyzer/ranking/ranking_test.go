package ranking

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/metric"
	"triton/analyzer/trial"
)

// measured returns a measurement of models without devices.
func measured(members ...metric.Values) *trial.Measurement {
	return &trial.Measurement{Members: members}
}

func weigh(pairs ...any) metric.Goal {
	var g metric.Goal
	for i := 0; i < len(pairs); i += 2 {
		g.Objectives = append(g.Objectives, metric.Objective{Tag: metric.Tag(pairs[i].(string)), Weight: pairs[i+1].(int)})
	}
	return g
}

func at(v float64) *float64 { return &v }

func TestScore(t *testing.T) {
	t.Parallel()
	fast := metric.Values{metric.Throughput: 300, metric.LatencyP99: 30}
	slow := metric.Values{metric.Throughput: 100, metric.LatencyP99: 10}
	for _, c := range []struct {
		name        string
		goals       []metric.Goal
		a, b        *trial.Measurement
		score, gain float64
	}{
		{"default objective", []metric.Goal{{}}, measured(fast), measured(slow), 1, 200},
		{"latency alone", []metric.Goal{weigh("perf_latency_p99", 5)}, measured(fast), measured(slow), -1, -200.0 / 3},
		{"alias", []metric.Goal{weigh("perf_latency", 5)}, measured(slow), measured(fast), 1, 200},
		{"weights are shares", []metric.Goal{weigh("perf_throughput", 30, "perf_latency_p99", 10)}, measured(fast), measured(slow), 0.75 - 0.25, 0.75*200 - 0.25*200/3},
		{"equal", []metric.Goal{{}}, measured(fast), measured(fast), 0, 0},
		{"only in the first", []metric.Goal{weigh("perf_latency_avg", 1, "perf_throughput", 1)}, measured(metric.Values{metric.LatencyAvg: 1}), measured(fast), 1, 100},
		{"only in the second", []metric.Goal{weigh("perf_throughput", 1, "perf_latency_avg", 1)}, measured(slow), measured(metric.Values{metric.Throughput: 50, metric.LatencyAvg: 1}), -1, -100},
		{"in neither", []metric.Goal{weigh("perf_throughput", 1, "perf_latency_avg", 1)}, measured(fast), measured(slow), 0, 0},
		{"NaN is not measured", []metric.Goal{{}}, measured(metric.Values{metric.Throughput: math.NaN()}), measured(slow), -1, -100},
		{"both 0", []metric.Goal{{}}, measured(metric.Values{metric.Throughput: 0}), measured(metric.Values{metric.Throughput: 0}), 0, 0},
		{"no measurement", []metric.Goal{{}}, nil, measured(slow), -1, -100},
		{
			"models by weight",
			[]metric.Goal{{Weight: 3}, {Weight: 1}},
			measured(fast, slow), measured(slow, fast), 0.75 - 0.25, 0.75*200 - 0.25*200/3,
		},
		{"fewer members than models", []metric.Goal{{}, {}}, measured(fast), measured(slow, slow), 0, 50},
	} {
		s := New(c.goals...)
		assert.InDelta(t, c.score, s.Score(c.a, c.b), 1e-9, c.name)
		assert.InDelta(t, c.gain, s.Gain(c.a, c.b), 1e-9, c.name)
		assert.InDelta(t, -c.score, s.Score(c.b, c.a), 1e-9, c.name)
	}
}

// devices returns a measurement with a metric of two devices.
func devices(tag metric.Tag, first, second float64) *trial.Measurement {
	m := measured(metric.Values{metric.Throughput: 100})
	m.GPUs = map[string]metric.Values{"GPU-a": {tag: first}, "GPU-b": {tag: second}}
	return m
}

func TestDevicesCount(t *testing.T) {
	t.Parallel()
	memory := New(weigh("gpu_used_memory", 1))
	assert.InDelta(t, 2*(3000.0-1000)/4000, memory.Score(devices(metric.GPUUsedMemory, 500, 500), devices(metric.GPUUsedMemory, 1000, 2000)), 1e-9)
	v, ok := Value(devices(metric.GPUUsedMemory, 1000, 2000), 0, metric.GPUUsedMemory)
	assert.True(t, ok)
	assert.InDelta(t, 3000, v, 0, "memory is a sum")
	v, ok = Value(devices(metric.GPUUtilization, 20, 40), 0, metric.GPUUtilization)
	assert.True(t, ok)
	assert.InDelta(t, 30, v, 0, "utilization is a mean")

	own := devices(metric.GPUModelMemory, 900, 900)
	own.Members[0][metric.GPUModelMemory] = 300
	v, _ = Value(own, 0, metric.GPUModelMemory)
	assert.InDelta(t, 300, v, 0, "what was measured for the model comes first")

	_, ok = Value(own, 0, metric.GPUPower)
	assert.False(t, ok)
	_, ok = Value(own, 0, "no_metric")
	assert.False(t, ok)
	assert.Zero(t, memory.Score(measured(nil), measured(nil)), "no devices")
	assert.InDelta(t, 1, memory.Score(devices(metric.GPUUsedMemory, 1, 1), measured(nil)), 0)
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	limited := func(cs ...metric.Constraint) metric.Goal { return metric.Goal{Constraints: cs} }
	latency := metric.Constraint{Tag: "perf_latency_p99", Max: at(10)}
	throughput := metric.Constraint{Tag: "perf_throughput", Min: at(200)}
	for _, c := range []struct {
		name  string
		goals []metric.Goal
		of    *trial.Measurement
		want  float64
	}{
		{"none", []metric.Goal{{}}, measured(metric.Values{metric.LatencyP99: 50}), 0},
		{"satisfied", []metric.Goal{limited(latency)}, measured(metric.Values{metric.LatencyP99: 10}), 0},
		{"violated", []metric.Goal{limited(latency)}, measured(metric.Values{metric.LatencyP99: 15}), 50},
		{"added up", []metric.Goal{limited(latency, throughput)}, measured(metric.Values{metric.LatencyP99: 15, metric.Throughput: 100}), 100},
		{"not measured", []metric.Goal{limited(latency)}, measured(metric.Values{}), 0},
		{"no measurement", []metric.Goal{limited(latency)}, nil, 0},
		{"each model its own", []metric.Goal{limited(latency), limited(throughput)}, measured(metric.Values{metric.LatencyP99: 1}, metric.Values{metric.LatencyP99: 100, metric.Throughput: 150}), 25},
		{"sum over devices", []metric.Goal{limited(metric.Constraint{Tag: "gpu_used_memory", Max: at(2000)})}, devices(metric.GPUUsedMemory, 1500, 1500), 50},
		{"each device", []metric.Goal{limited(metric.Constraint{Tag: "gpu_used_memory", MaxPerGPU: at(1000)})}, devices(metric.GPUUsedMemory, 500, 1500), 50},
		{"alias", []metric.Goal{limited(metric.Constraint{Tag: "perf_latency", Max: at(10)})}, measured(metric.Values{metric.LatencyP99: 20}), 100},
	} {
		s := New(c.goals...)
		assert.InDelta(t, c.want, s.FailurePercent(c.of), 1e-9, c.name)
		assert.Equal(t, c.want == 0, s.Passes(c.of), c.name)
	}
}

// result is a result of one variant of one model.
func result(variant string, throughput, latency float64) trial.Result {
	v := trial.Variant{Model: "m", Name: variant}
	if variant != "m_config_default" {
		v.Patch = trial.Patch{"max_batch_size": 1}
	}
	return trial.Result{
		Config:      trial.Config{Members: []trial.Member{{Variant: v}}},
		Measurement: measured(metric.Values{metric.Throughput: throughput, metric.LatencyP99: latency}),
	}
}

func keys(variants []Variant) []string {
	var all []string
	for _, v := range variants {
		all = append(all, v.Key)
	}
	return all
}

func TestRank(t *testing.T) {
	t.Parallel()
	s := New(metric.Goal{Constraints: []metric.Constraint{{Tag: "perf_latency_p99", Max: at(10)}}})
	ranked := s.Rank([]trial.Result{
		result("m_config_default", 100, 1),
		result("m_config_0", 500, 5), result("m_config_0", 900, 50), result("m_config_0", 400, 4),
		result("m_config_1", 600, 60), result("m_config_1", 700, 70),
		result("m_config_2", 500, 9),
		{Config: result("m_config_3", 0, 0).Config, Failure: &trial.Failure{Class: trial.Other}},
	})
	require.Equal(t, []string{"m_config_1", "m_config_0", "m_config_2", "m_config_default"}, keys(ranked))
	require.Equal(t, []bool{false, true, true, true}, []bool{ranked[0].Passing, ranked[1].Passing, ranked[2].Passing, ranked[3].Passing})
	throughput := func(r trial.Result) float64 { return r.Measurement.Members[0][metric.Throughput] }
	assert.InDelta(t, 700, throughput(ranked[0].Best), 0, "none passes: the best of all")
	assert.InDelta(t, 500, throughput(ranked[1].Best), 0, "the best that passes, though another is faster")
	assert.InDelta(t, 900, throughput(ranked[1].Results[0]), 0, "results are sorted")
	assert.Len(t, ranked[1].Results, 3)
	assert.True(t, ranked[3].Default())
	assert.False(t, ranked[0].Default())

	for _, c := range []struct {
		n        int
		want     []string
		warnings []string
	}{
		{1, []string{"m_config_0", "m_config_default"}, nil},
		{2, []string{"m_config_0", "m_config_2", "m_config_default"}, nil},
		{3, []string{"m_config_0", "m_config_2", "m_config_default"}, nil},
		{4, []string{"m_config_0", "m_config_2", "m_config_default"}, []string{"Requested top 4 configs, but found only 3. Showing all available configs for this model."}},
		{-1, []string{"m_config_0", "m_config_2", "m_config_default"}, nil},
		{0, []string{"m_config_default"}, nil},
	} {
		top, warnings := Top(ranked, c.n)
		assert.Equal(t, c.want, keys(top), c.n)
		assert.Equal(t, c.warnings, warnings, c.n)
	}
}

func TestTopWhenNonePasses(t *testing.T) {
	t.Parallel()
	s := New(metric.Goal{Constraints: []metric.Constraint{{Tag: "perf_latency_p99", Max: at(1)}}})
	ranked := s.Rank([]trial.Result{result("m_config_0", 1, 9), result("m_config_1", 2, 9), result("m_config_default", 0.5, 5)})
	const none = "Requested top 2 configs, but none satisfied constraints. Showing available constraint failing configs for this model."
	top, warnings := Top(ranked, 2)
	assert.Equal(t, []string{"m_config_1", "m_config_0", "m_config_default"}, keys(top))
	assert.Equal(t, []string{none}, warnings)

	top, warnings = Top(nil, 2)
	assert.Empty(t, top)
	assert.Equal(t, []string{"Requested top 2 configs, but found only 0. Showing all available configs for this model."}, warnings)
}

// TestKeyOfComposing keeps two ensembles apart that differ in a composing model only, and finds
// the user's own configuration of both.
func TestKeyOfComposing(t *testing.T) {
	t.Parallel()
	ensemble := func(composing trial.Variant) trial.Result {
		r := result("e_config_default", 1, 1)
		r.Config.Members[0].Patch = nil
		r.Config.Members[0].Composing = []trial.Variant{composing}
		return r
	}
	ranked := New(metric.Goal{}).Rank([]trial.Result{
		ensemble(trial.Variant{Name: "a_config_0", Patch: trial.Patch{"max_batch_size": 4}}),
		ensemble(trial.Variant{Name: "a_config_default"}),
	})
	require.Equal(t, []string{"e_config_default,a_config_0", "e_config_default,a_config_default"}, keys(ranked))
	assert.False(t, ranked[0].Default())
	assert.True(t, ranked[1].Default())
}
