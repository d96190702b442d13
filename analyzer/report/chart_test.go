package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/profile"
	"triton/analyzer/report/page"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

func measuredUnder(load trial.Load, values trial.Values) trial.Result {
	return trial.Result{
		Config: trial.Config{Members: []trial.Member{{Variant: trial.Variant{Model: "m", Name: "m_config_default", CPUOnly: true, Config: &inferencepb.ModelConfig{}}, Load: load}}},
		Measurement: &trial.Measurement{Members: []trial.Values{values}, Confidence: map[trial.Metric]trial.Interval{
			trial.Throughput: {Low: values[trial.Throughput] - 1, High: values[trial.Throughput] + 1},
		}},
	}
}

func arranged(results ...trial.Result) *outcome {
	return newOutcome(&profile.Report{Models: []profile.ModelReport{{Name: "m", Members: []profile.MemberReport{{Model: "m"}}, Results: results}}}, false)
}

func TestLines(t *testing.T) {
	t.Parallel()
	at := func(v float64) *float64 { return &v }
	o := arranged(
		measuredUnder(trial.Load{Batch: 1, Concurrency: 2}, trial.Values{trial.Throughput: 10, trial.LatencyP99: 4, trial.CPUUsedRAM: 7}),
		measuredUnder(trial.Load{Batch: 1, Concurrency: 1}, trial.Values{trial.Throughput: 12, trial.LatencyP99: 2, trial.CPUUsedRAM: 6}),
		measuredUnder(trial.Load{Batch: 1, Concurrency: 4}, trial.Values{trial.LatencyP99: 9}),
	)
	variants := o.Models[0].Variants
	goal := trial.Goal{Constraints: []trial.Constraint{{Tag: "perf_latency", Max: at(5)}, {Tag: trial.Throughput, Min: at(11)}, {Tag: trial.CPUUsedRAM, Max: at(1)}}}
	l := linesChart(settings.SummaryPlots(settings.Online)[0], variants, goal)
	require.Equal(t, "p99 Latency (ms)", l.X)
	require.Len(t, l.Series, 1)
	require.Len(t, l.Series[0].Points, 1, "monotonic: the slower point is not higher")
	p := l.Series[0].Points[0]
	require.InDeltaSlice(t, []float64{2, 12, 11, 13}, []float64{p.X, p.Y, p.Low, p.High}, 0)
	require.Equal(t, "m_config_default, batch size 1, concurrency 1: p99 Latency (ms) 2, Throughput (infer/sec) 12", p.Note)
	require.Equal(t, []page.Target{{Name: "Target p99 Latency", Value: 5, Vertical: true}, {Name: "Target Throughput", Value: 11}}, l.Targets)
	require.Nil(t, linesChart(settings.Plot{XAxis: trial.LatencyP99, YAxis: trial.GPUPower}, variants))
	l = linesChart(settings.Plot{XAxis: concurrency, YAxis: trial.LatencyP99}, variants)
	require.Equal(t, "Concurrency", l.X)
	require.Len(t, l.Series[0].Points, 3)

	// Without GPUs the summary has the memory of the host, once.
	named := summaryCharts(o, &o.Models[0], variants, 1, append(settings.SummaryPlots(settings.Online), settings.CPUMemoryPlot()))
	require.Len(t, named, 2)
	require.Equal(t, "cpu_mem_v_latency", named[1].Name)
	require.Equal(t, "CPU Memory vs. Latency curves for 1 best configurations.", named[1].Caption)
	require.Len(t, detailCharts(o, variants[0], settings.DetailPlots(settings.Online)), 1)
}

func TestBreakdown(t *testing.T) {
	t.Parallel()
	values := trial.Values{trial.ServerQueue: 1, trial.ServerInput: 2, trial.ServerInfer: 3, trial.ServerOutput: 4, trial.Throughput: 5}
	labels := func(loads ...trial.Load) (axis string, labels []string) {
		var all []trial.Result
		for _, l := range loads {
			all = append(all, measuredUnder(l, values))
		}
		b := breakdownChart(all)
		for _, bar := range b.Bars {
			labels = append(labels, bar.Label)
		}
		require.Equal(t, []float64{1, 2, 3, 4}, b.Bars[0].Parts)
		require.InDelta(t, 5, b.Bars[0].Line, 0)
		return b.X, labels
	}
	axis, got := labels(trial.Load{Batch: 1, Concurrency: 16}, trial.Load{Batch: 8, Concurrency: 2}, trial.Load{Batch: 1, Concurrency: 2})
	require.Equal(t, "Concurrent Client Requests", axis)
	require.Equal(t, []string{"2", "2 (batch 8)", "16"}, got)
	axis, got = labels(trial.Load{Batch: 1, RequestRate: 100}, trial.Load{Batch: 1, RequestRate: 20})
	require.Equal(t, "Client Request Rate", axis)
	require.Equal(t, []string{"20", "100"}, got)
	axis, got = labels(trial.Load{Batch: 1, Intervals: "times.txt"})
	require.Equal(t, "Request Intervals File", axis)
	require.Equal(t, []string{"times.txt"}, got)
	require.Nil(t, breakdownChart(nil))
}
