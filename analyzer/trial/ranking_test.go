package trial

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// measured returns a measurement of models without devices.
func measured(members ...Values) *Measurement {
	return &Measurement{Members: members}
}

func weigh(pairs ...any) Goal {
	var g Goal
	for i := 0; i < len(pairs); i += 2 {
		g.Objectives = append(g.Objectives, Objective{Tag: Metric(pairs[i].(string)), Weight: pairs[i+1].(int)})
	}
	return g
}

func at(v float64) *float64 { return &v }

func TestScore(t *testing.T) {
	t.Parallel()
	fast := Values{Throughput: 300, LatencyP99: 30}
	slow := Values{Throughput: 100, LatencyP99: 10}
	for _, c := range []struct {
		name        string
		goals       []Goal
		a, b        *Measurement
		score, gain float64
	}{
		{"default objective", []Goal{{}}, measured(fast), measured(slow), 1, 200},
		{"latency alone", []Goal{weigh("perf_latency_p99", 5)}, measured(fast), measured(slow), -1, -200.0 / 3},
		{"alias", []Goal{weigh("perf_latency", 5)}, measured(slow), measured(fast), 1, 200},
		{"weights are shares", []Goal{weigh("perf_throughput", 30, "perf_latency_p99", 10)}, measured(fast), measured(slow), 0.75 - 0.25, 0.75*200 - 0.25*200/3},
		{"equal", []Goal{{}}, measured(fast), measured(fast), 0, 0},
		{"only in the first", []Goal{weigh("perf_latency_avg", 1, "perf_throughput", 1)}, measured(Values{LatencyAvg: 1}), measured(fast), 1, 100},
		{"only in the second", []Goal{weigh("perf_throughput", 1, "perf_latency_avg", 1)}, measured(slow), measured(Values{Throughput: 50, LatencyAvg: 1}), -1, -100},
		{"in neither", []Goal{weigh("perf_throughput", 1, "perf_latency_avg", 1)}, measured(fast), measured(slow), 0, 0},
		{"NaN is not measured", []Goal{{}}, measured(Values{Throughput: math.NaN()}), measured(slow), -1, -100},
		{"both 0", []Goal{{}}, measured(Values{Throughput: 0}), measured(Values{Throughput: 0}), 0, 0},
		{"no measurement", []Goal{{}}, nil, measured(slow), -1, -100},
		{
			"models by weight",
			[]Goal{{Weight: 3}, {Weight: 1}},
			measured(fast, slow), measured(slow, fast), 0.75 - 0.25, 0.75*200 - 0.25*200/3,
		},
		{"fewer members than models", []Goal{{}, {}}, measured(fast), measured(slow, slow), 0, 50},
	} {
		s := NewScorer(c.goals...)
		assert.InDelta(t, c.score, s.Score(c.a, c.b), 1e-9, c.name)
		assert.InDelta(t, c.gain, s.Gain(c.a, c.b), 1e-9, c.name)
		assert.InDelta(t, -c.score, s.Score(c.b, c.a), 1e-9, c.name)
	}
}

// devices returns a measurement with a metric of two devices.
func devices(tag Metric, first, second float64) *Measurement {
	m := measured(Values{Throughput: 100})
	m.GPUs = map[string]Values{"GPU-a": {tag: first}, "GPU-b": {tag: second}}
	return m
}

func TestDevicesCount(t *testing.T) {
	t.Parallel()
	memory := NewScorer(weigh("gpu_used_memory", 1))
	assert.InDelta(t, 2*(3000.0-1000)/4000, memory.Score(devices(GPUUsedMemory, 500, 500), devices(GPUUsedMemory, 1000, 2000)), 1e-9)
	v, ok := MetricOf(devices(GPUUsedMemory, 1000, 2000), 0, GPUUsedMemory)
	assert.True(t, ok)
	assert.InDelta(t, 3000, v, 0, "memory is a sum")
	v, ok = MetricOf(devices(GPUUtilization, 20, 40), 0, GPUUtilization)
	assert.True(t, ok)
	assert.InDelta(t, 30, v, 0, "utilization is a mean")

	own := devices(GPUModelMemory, 900, 900)
	own.Members[0][GPUModelMemory] = 300
	v, _ = MetricOf(own, 0, GPUModelMemory)
	assert.InDelta(t, 300, v, 0, "what was measured for the model comes first")

	_, ok = MetricOf(own, 0, GPUPower)
	assert.False(t, ok)
	_, ok = MetricOf(own, 0, "no_metric")
	assert.False(t, ok)
	assert.Zero(t, memory.Score(measured(nil), measured(nil)), "no devices")
	assert.InDelta(t, 1, memory.Score(devices(GPUUsedMemory, 1, 1), measured(nil)), 0)
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	limited := func(cs ...Constraint) Goal { return Goal{Constraints: cs} }
	latency := Constraint{Tag: "perf_latency_p99", Max: at(10)}
	throughput := Constraint{Tag: "perf_throughput", Min: at(200)}
	for _, c := range []struct {
		name  string
		goals []Goal
		of    *Measurement
		want  float64
	}{
		{"none", []Goal{{}}, measured(Values{LatencyP99: 50}), 0},
		{"satisfied", []Goal{limited(latency)}, measured(Values{LatencyP99: 10}), 0},
		{"violated", []Goal{limited(latency)}, measured(Values{LatencyP99: 15}), 50},
		{"added up", []Goal{limited(latency, throughput)}, measured(Values{LatencyP99: 15, Throughput: 100}), 100},
		{"not measured", []Goal{limited(latency)}, measured(Values{}), 0},
		{"no measurement", []Goal{limited(latency)}, nil, 0},
		{"each model its own", []Goal{limited(latency), limited(throughput)}, measured(Values{LatencyP99: 1}, Values{LatencyP99: 100, Throughput: 150}), 25},
		{"sum over devices", []Goal{limited(Constraint{Tag: "gpu_used_memory", Max: at(2000)})}, devices(GPUUsedMemory, 1500, 1500), 50},
		{"each device", []Goal{limited(Constraint{Tag: "gpu_used_memory", MaxPerGPU: at(1000)})}, devices(GPUUsedMemory, 500, 1500), 50},
		{"alias", []Goal{limited(Constraint{Tag: "perf_latency", Max: at(10)})}, measured(Values{LatencyP99: 20}), 100},
	} {
		s := NewScorer(c.goals...)
		assert.InDelta(t, c.want, s.ViolationPercent(c.of), 1e-9, c.name)
		assert.Equal(t, c.want == 0, s.Passes(c.of), c.name)
	}
}

// result is a result of one variant of one model.
func result(variant string, throughput, latency float64) Result {
	v := Variant{Model: "m", Name: variant}
	if variant != "m_config_default" {
		v.Patch = Patch{"max_batch_size": 1}
	}
	return Result{
		Config:      Config{Members: []Member{{Variant: v}}},
		Measurement: measured(Values{Throughput: throughput, LatencyP99: latency}),
	}
}

func keys(variants []Ranked) []string {
	var all []string
	for _, v := range variants {
		all = append(all, v.Key)
	}
	return all
}

func TestRank(t *testing.T) {
	t.Parallel()
	s := NewScorer(Goal{Constraints: []Constraint{{Tag: "perf_latency_p99", Max: at(10)}}})
	ranked := s.Rank([]Result{
		result("m_config_default", 100, 1),
		result("m_config_0", 500, 5), result("m_config_0", 900, 50), result("m_config_0", 400, 4),
		result("m_config_1", 600, 60), result("m_config_1", 700, 70),
		result("m_config_2", 500, 9),
		{Config: result("m_config_3", 0, 0).Config, Failure: &Failure{Class: Other}},
	})
	require.Equal(t, []string{"m_config_1", "m_config_0", "m_config_2", "m_config_default"}, keys(ranked))
	require.Equal(t, []bool{false, true, true, true}, []bool{ranked[0].Passing, ranked[1].Passing, ranked[2].Passing, ranked[3].Passing})
	throughput := func(r Result) float64 { return r.Measurement.Members[0][Throughput] }
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
		top, warnings := TopRanked(ranked, c.n)
		assert.Equal(t, c.want, keys(top), c.n)
		assert.Equal(t, c.warnings, warnings, c.n)
	}
}

func TestTopWhenNonePasses(t *testing.T) {
	t.Parallel()
	s := NewScorer(Goal{Constraints: []Constraint{{Tag: "perf_latency_p99", Max: at(1)}}})
	ranked := s.Rank([]Result{result("m_config_0", 1, 9), result("m_config_1", 2, 9), result("m_config_default", 0.5, 5)})
	const none = "Requested top 2 configs, but none satisfied constraints. Showing available constraint failing configs for this model."
	top, warnings := TopRanked(ranked, 2)
	assert.Equal(t, []string{"m_config_1", "m_config_0", "m_config_default"}, keys(top))
	assert.Equal(t, []string{none}, warnings)

	top, warnings = TopRanked(nil, 2)
	assert.Empty(t, top)
	assert.Equal(t, []string{"Requested top 2 configs, but found only 0. Showing all available configs for this model."}, warnings)
}

// TestKeyOfComposing keeps two ensembles apart that differ in a composing model only, and finds
// the user's own configuration of both.
func TestKeyOfComposing(t *testing.T) {
	t.Parallel()
	ensemble := func(composing Variant) Result {
		r := result("e_config_default", 1, 1)
		r.Config.Members[0].Patch = nil
		r.Config.Members[0].Composing = []Variant{composing}
		return r
	}
	ranked := NewScorer(Goal{}).Rank([]Result{
		ensemble(Variant{Name: "a_config_0", Patch: Patch{"max_batch_size": 4}}),
		ensemble(Variant{Name: "a_config_default"}),
	})
	require.Equal(t, []string{"e_config_default,a_config_0", "e_config_default,a_config_default"}, keys(ranked))
	assert.False(t, ranked[0].Default())
	assert.True(t, ranked[1].Default())
}
