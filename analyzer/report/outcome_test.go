package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/profile"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

func group(kind inferencepb.ModelInstanceGroup_Kind, count int32, gpus ...int32) *inferencepb.ModelInstanceGroup {
	return &inferencepb.ModelInstanceGroup{Kind: kind, Count: count, Gpus: gpus}
}

// TestInstances: groups count once for each GPU, as in Model Analyzer.
func TestInstances(t *testing.T) {
	t.Parallel()
	two := map[string]profile.GPU{"a": {}, "b": {}}
	for _, c := range []struct {
		name    string
		gpus    map[string]profile.GPU
		cpuOnly bool
		groups  []*inferencepb.ModelInstanceGroup
		cell    string
		phrase  string
	}{
		{"none, with GPUs", two, false, nil, "2:GPU", "2 GPU instances"},
		{"none, without GPUs", nil, false, nil, "1:CPU", "1 CPU instance"},
		{"none, on the CPU", two, true, nil, "1:CPU", "1 CPU instance"},
		{"all GPUs", two, false, []*inferencepb.ModelInstanceGroup{group(inferencepb.ModelInstanceGroup_KIND_GPU, 3)}, "6:GPU", "6 GPU instances"},
		{"named GPUs", two, false, []*inferencepb.ModelInstanceGroup{group(inferencepb.ModelInstanceGroup_KIND_GPU, 3, 1)}, "3:GPU", "3 GPU instances"},
		{"no count", nil, false, []*inferencepb.ModelInstanceGroup{group(inferencepb.ModelInstanceGroup_KIND_MODEL, 0)}, "1:MODEL", "1 MODEL instance"},
		{"mixed", two, false, []*inferencepb.ModelInstanceGroup{
			group(inferencepb.ModelInstanceGroup_KIND_GPU, 1, 0), group(inferencepb.ModelInstanceGroup_KIND_CPU, 1), group(inferencepb.ModelInstanceGroup_KIND_GPU, 1, 0, 1),
		}, "3:GPU + 1:CPU", "3 GPU instances and 1 CPU instance"},
	} {
		o := newOutcome(&profile.Report{GPUs: c.gpus}, false)
		v := trial.Variant{CPUOnly: c.cpuOnly, Config: &inferencepb.ModelConfig{InstanceGroup: c.groups}}
		require.Equal(t, c.cell, o.InstanceCell(v), c.name)
		require.Equal(t, c.phrase, o.InstancePhrase(v), c.name)
	}
}

func measuredVariant(variant string, throughput, latency float64, gpus ...string) trial.Result {
	m := &trial.Measurement{Members: []trial.Values{{trial.Throughput: throughput, trial.LatencyP99: latency}}}
	for _, uuid := range gpus {
		if m.GPUs == nil {
			m.GPUs = map[string]trial.Values{}
		}
		m.GPUs[uuid] = trial.Values{trial.GPUUsedMemory: 100, trial.GPUUtilization: 10}
	}
	v := trial.Variant{Model: "m", Name: variant, Patch: trial.Patch{"max_batch_size": 1}, Config: &inferencepb.ModelConfig{}}
	return trial.Result{Config: trial.Config{Members: []trial.Member{{Variant: v, Load: trial.Load{Batch: 1, Concurrency: 1}}}}, Measurement: m}
}

func TestPareto(t *testing.T) {
	t.Parallel()
	limit := 50.0
	goal := trial.Goal{Constraints: []trial.Constraint{{Tag: trial.LatencyP99, Max: &limit}}}
	o := newOutcome(&profile.Report{Models: []profile.ModelReport{{Name: "m", Members: []profile.MemberReport{{Model: "m", Goal: goal}}, Results: []trial.Result{
		measuredVariant("a", 100, 5), measuredVariant("a", 200, 10), measuredVariant("a", 200, 10), measuredVariant("b", 150, 10), measuredVariant("b", 400, 60), measuredVariant("c", 300, 40), measuredVariant("c", 90, 5),
		{Config: measuredVariant("d", 0, 0).Config, Failure: &trial.Failure{Class: trial.Other}},
	}}}}, false)
	m := &o.Models[0]
	var got []float64
	for _, r := range m.Pareto() {
		v, _ := valueOf(r, trial.Throughput)
		got = append(got, v)
	}
	require.Equal(t, []float64{100, 200, 200, 300}, got, "of equal ones both; what breaks a limit is none")
	require.Equal(t, 7, m.Measurements())
	require.Len(t, m.Failed, 1)
	_, ok := m.Default()
	require.False(t, ok)
	_, v, ok := o.Find("b")
	require.True(t, ok)
	require.Len(t, v.Missed, 1)
	require.Len(t, v.Passed, 1)
	_, _, ok = o.Find("d")
	require.False(t, ok, "it has no measurement")
	require.Equal(t, []string{"Max p99 Latency: 50 ms"}, m.Constraints())
}

func TestDevices(t *testing.T) {
	t.Parallel()
	r := &profile.Report{
		GPUs:   map[string]profile.GPU{"u1": {Name: "A", Total: 80 << 30}, "u2": {Name: "B", Total: 16 << 30}, "u3": {Name: "A", Total: 80 << 30}, "idle": {Name: "C", Total: 1 << 40}},
		Models: []profile.ModelReport{{Name: "m", Members: []profile.MemberReport{{Model: "m"}}, Results: []trial.Result{measuredVariant("a", 1, 1, "u1", "u2"), measuredVariant("a", 2, 1, "u3", "gone")}}},
	}
	o := newOutcome(r, false)
	names, memory := o.Devices(o.Models[0].Variants)
	require.Equal(t, "1 x unknown GPU, 2 x A, 1 x B", names)
	require.Equal(t, "176.0 GB", memory)
	require.True(t, o.GPU(o.Models[0].Variants))
	v, ok := valueOf(o.Models[0].Variants[0].Results[0], trial.GPUUsedMemory)
	require.True(t, ok)
	require.InDelta(t, 200, v, 0, "memory is the sum of the devices")
}

// TestValues: loads are values too, aliases are known, unknown tags have none.
func TestValues(t *testing.T) {
	t.Parallel()
	r := measuredVariant("a", 10, 20)
	r.Measurement.Members = append(r.Measurement.Members, trial.Values{trial.Throughput: 5, trial.LatencyP99: 40})
	for tag, want := range map[trial.Metric]float64{batchSize: 1, concurrency: 1, trial.Throughput: 15, "perf_latency": 30} {
		v, ok := valueOf(r, tag)
		require.True(t, ok, tag)
		require.InDelta(t, want, v, 1e-9, tag)
	}
	for _, tag := range []trial.Metric{requestRate, "nonsense", trial.CPUUsedRAM} {
		_, ok := valueOf(r, tag)
		require.False(t, ok, tag)
	}
	require.Equal(t, "p99 Latency (ms)", headerOf("perf_latency"))
	require.Equal(t, "Batch Size", headerOf(batchSize))
	name, unit := splitUnit("GPU Utilization (%)")
	require.Equal(t, [2]string{"GPU Utilization", "%"}, [2]string{name, unit})
}

// TestNames: variants that differ only in their composing models have names of their own.
func TestNames(t *testing.T) {
	t.Parallel()
	ensemble := func(composing string) trial.Result {
		r := measuredVariant("top_config_default", 1, 1)
		r.Config.Members[0].Composing = []trial.Variant{{Model: "in", Name: composing, Config: &inferencepb.ModelConfig{}}}
		return r
	}
	o := newOutcome(&profile.Report{Models: []profile.ModelReport{{
		Name: "top", Members: []profile.MemberReport{{Model: "top", Ensemble: true, Composing: []string{"in"}}},
		Results: []trial.Result{ensemble("in_config_0"), ensemble("in_config_1")},
	}}}, false)
	require.Equal(t, "top_config_default,in_config_0", o.Models[0].Variants[0].Name)
	require.Equal(t, "top_config_default,in_config_1", o.Models[0].Variants[1].Name)
	require.True(t, o.Models[0].Ensemble())
	require.False(t, o.Models[0].BLS())
}
