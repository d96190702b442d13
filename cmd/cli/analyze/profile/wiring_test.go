package profile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/profile"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	perfcmd "triton/cmd/cli/perf"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/llm"
	"triton/pkg/gpu"
	"triton/pkg/inferencepb"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	level := perf.Level{Stable: true, Summary: perf.Summary{
		Requests: 100, Throughput: 50, AvgLatency: 2 * time.Millisecond,
		Percentiles:        []perf.Percentile{{P: 99, Latency: 4 * time.Millisecond, Interval: perf.Interval{Low: 3e6, High: math.Inf(1)}}},
		ThroughputInterval: perf.Interval{Low: 49, High: 51},
		Client:             perf.ClientTimes{Request: 2 * time.Millisecond, Send: 100 * time.Microsecond, Receive: 300 * time.Microsecond},
		Server: &perf.ServerStats{Ensemble: true, Composing: []perf.ServerStats{
			{Queue: perf.Statistic{Count: 10, Ns: 1e7}}, {Queue: perf.Statistic{Count: 10, Ns: 2e7}, ComputeInfer: perf.Statistic{Count: 2, Ns: 1e6}},
		}},
	}}
	o := outcome(perfcmd.Outcome{Report: &perf.Report{Levels: []perf.Level{level}}, LLM: &llm.Metrics{
		PerRequest: []llm.Distribution{{Name: "time_to_first_token", Values: llm.Statistics{Mean: 7}}, {Name: "request_latency"}},
		Totals:     []llm.Total{{Name: "output_token_throughput", Value: 80}},
	}}, false)
	require.NoError(t, o.Err)
	want := trial.Values{
		trial.Throughput: 50, trial.LatencyAvg: 2, trial.LatencyP99: 4, trial.ClientSendRecv: 0.4, trial.ClientWait: 1.6,
		trial.ServerQueue: 3, trial.ServerInfer: 0.5, "time_to_first_token_avg": 7, trial.OutputThroughput: 80,
	}
	for tag, want := range want {
		assert.InDelta(t, want, o.Values[tag], 1e-9, tag)
	}
	assert.NotContains(t, o.Values, trial.ServerInput, "what was not measured is absent")
	assert.Equal(t, map[trial.Metric]trial.Interval{trial.Throughput: {Low: 49, High: 51}}, o.Confidence, "open intervals are not known")
	assert.Equal(t, 100, o.Requests)
	assert.True(t, o.Stable)

	level.Stable = false
	unstable := perfcmd.Outcome{Report: &perf.Report{Failed: []perf.Level{level}}}
	assert.True(t, outcome(unstable, false).Unsettled)
	precise := outcome(unstable, true)
	require.NoError(t, precise.Err, "what is less precise than asked for counts")
	assert.False(t, precise.Stable)
	assert.True(t, outcome(perfcmd.Outcome{Err: perf.ErrNoRequests}, false).Unsettled)
	assert.False(t, outcome(perfcmd.Outcome{Err: errors.New("refused")}, false).Unsettled)
	assert.True(t, outcome(perfcmd.Outcome{Report: &perf.Report{}}, false).Unsettled)
}

type devicesOf []gpu.Device

func (d devicesOf) Devices() []gpu.Device                     { return d }
func (devicesOf) Read(gpu.Device) gpu.Reading                 { return gpu.Reading{} }
func (devicesOf) Processes(gpu.Device) ([]gpu.Process, error) { return nil, nil }
func (devicesOf) Close() error                                { return nil }

func TestChoose(t *testing.T) {
	t.Parallel()
	a, b := gpu.Device{UUID: "GPU-a"}, gpu.Device{UUID: "GPU-b", Index: 1}
	view := devicesOf{a, b}
	for _, c := range []struct {
		names   []string
		want    []gpu.Device
		visible []string
	}{
		{[]string{"all"}, []gpu.Device{a, b}, []string{"GPU-a", "GPU-b"}},
		{[]string{"[]"}, nil, []string{}},
		{[]string{"1"}, []gpu.Device{b}, []string{"GPU-b"}},
		{[]string{"GPU-b", "0"}, []gpu.Device{b, a}, []string{"GPU-b", "GPU-a"}},
	} {
		got, err := choose(view, c.names)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.visible, visible(&settings.Profile{GPUs: c.names}, got))
	}
	_, err := choose(view, []string{"GPU-c"})
	require.ErrorContains(t, err, `this machine has no GPU "GPU-c"`)
	_, err = choose(nil, []string{"0"})
	require.Error(t, err)
	got, err := choose(nil, []string{"all"})
	require.NoError(t, err)
	assert.Nil(t, visible(&settings.Profile{GPUs: []string{"all"}}, got), "the server finds what this program cannot read")
}

// divided is a machine whose second GPU is divided into MIG instances, of which CUDA shows the first.
type divided struct{ devicesOf }

func (divided) Inventory() gpu.Inventory {
	return gpu.Inventory{GPUs: []gpu.GPU{{UUID: "GPU-a"}, {Index: 1, UUID: "GPU-b", Name: "A100", MIG: gpu.MIG{Instances: []gpu.Instance{
		{UUID: "MIG-1", GPUInstance: 7, Path: "MIG-GPU-b/7/0", Ordinal: gpu.Some(1)}, {UUID: "MIG-2", GPUInstance: 8},
	}}}}}
}

func TestChooseMIG(t *testing.T) {
	t.Parallel()
	view := divided{devicesOf{{UUID: "GPU-a"}, {UUID: "GPU-b", Index: 1, Instance: "MIG-1"}}}
	for name, want := range map[string][]string{
		"all": {"GPU-a", "MIG-1"}, "1": {"MIG-1"}, "GPU-b": {"MIG-1"}, "MIG-1": {"MIG-1"}, "MIG-GPU-b/7/0": {"MIG-1"}, "1:8:0": {"MIG-2"}, "MIG-2": {"MIG-2"},
	} {
		got, err := choose(view, []string{name})
		require.NoError(t, err, name)
		assert.Equal(t, want, visible(&settings.Profile{GPUs: []string{name}}, got), name)
	}
	_, err := choose(view, []string{"1:9:0"})
	require.ErrorContains(t, err, `this machine has no GPU "1:9:0"`)
}

func TestSpaceModels(t *testing.T) {
	t.Parallel()
	m := profile.Model{
		Model: settings.Model{Name: "m", BatchSizes: []int{1, 4}, PerfFlags: settings.Flags{{Name: "request-rate-range", Values: []string{"10:20"}}}},
		Config: &inferencepb.ModelConfig{MaxBatchSize: 8, InstanceGroup: []*inferencepb.ModelInstanceGroup{
			{Count: 2, Gpus: []int32{0, 1}}, {Kind: inferencepb.ModelInstanceGroup_KIND_CPU},
		}},
	}
	s := spaceModels([]profile.Model{m})[0]
	assert.Equal(t, 5, s.Instances)
	assert.Equal(t, 8, s.MaxBatch)
	assert.Equal(t, &trial.Load{Batch: 1, RequestRate: 10}, s.Load)
	assert.Nil(t, s.Patches)
	m.PerfFlags = settings.Flags{{Name: "concurrency-range", Values: []string{"3"}}, {Name: "batch-size", Values: []string{"2"}}}
	m.Parameters = settings.Alternatives{{Name: "max_batch_size", Values: []any{1, 2}}}
	m.Config = &inferencepb.ModelConfig{}
	s = spaceModels([]profile.Model{m})[0]
	assert.Equal(t, &trial.Load{Batch: 2, Concurrency: 3}, s.Load)
	assert.Equal(t, 1, s.Instances)
	assert.Len(t, s.Patches, 2)
}

func TestAxes(t *testing.T) {
	t.Parallel()
	o := &settings.Profile{Search: settings.Search{Dimensions: settings.Dimensions()}}
	names := func(m settings.Model, config *inferencepb.ModelConfig) (names, notices []string) {
		m.Name = "m"
		for _, a := range axes(o, profile.Model{Model: m, Config: config}, func(text string) { notices = append(notices, text) }) {
			assert.Empty(t, a.Values[0], "the first value is the configuration as it is")
			names = append(names, a.Name)
		}
		return names, notices
	}
	cached := settings.Model{ServerFlags: settings.Flags{{Name: "cache-config", Values: []string{"local,size=1048576"}}}}
	buckets := map[string]*inferencepb.ModelParameter{"length_buckets": {StringValue: "64, 128,256"}}
	got, notices := names(cached, &inferencepb.ModelConfig{Backend: "onnxruntime", MaxBatchSize: 8, Parameters: buckets})
	assert.Equal(t, []string{"queue delay", "preferred batch size", "threads", "response cache", "length buckets"}, got)
	assert.Empty(t, notices)
	got, notices = names(settings.Model{}, &inferencepb.ModelConfig{Backend: "python"})
	assert.Empty(t, got)
	assert.Equal(t, []string{
		"search_dimensions: queue_delay is not searched for m: the model has no dynamic batcher",
		"search_dimensions: preferred_batch_size is not searched for m: the model has no dynamic batcher",
		"search_dimensions: threads is not searched for m: the model does not run on ONNX Runtime",
		"search_dimensions: response_cache is not searched for m: triton_server_flags have no cache_config",
		"search_dimensions: length_buckets is not searched for m: the model has no parameter length_buckets",
	}, notices)
	listed := settings.Model{Parameters: settings.Alternatives{{Name: "dynamic_batching", Values: []any{nil}}}}
	got, _ = names(listed, &inferencepb.ModelConfig{Backend: "onnxruntime", MaxBatchSize: 8})
	assert.Equal(t, []string{"threads"}, got)
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	assert.Equal(t, [][]int{{32, 64, 96, 128, 192, 256}, {64, 256}, {256}}, otherBuckets([]int{64, 128, 256}))
	assert.Equal(t, [][]int{{64, 128}}, otherBuckets([]int{128}))
	assert.Empty(t, otherBuckets([]int{1}))
	m := profile.Model{Model: settings.Model{Name: "m"}, Config: &inferencepb.ModelConfig{Parameters: map[string]*inferencepb.ModelParameter{
		"length_buckets": {StringValue: "64, 128,256"}, "length_bucket_inputs": {StringValue: "ids"},
	}}}
	a, why := bucketAxis(m)
	require.Empty(t, why)
	require.Len(t, a.Values, 4)
	c, err := a.Values[2].Apply(m.Config)
	require.NoError(t, err)
	assert.Equal(t, "64, 256", c.GetParameters()["length_buckets"].GetStringValue())
	assert.Equal(t, "ids", c.GetParameters()["length_bucket_inputs"].GetStringValue(), "which inputs to pad stays")
}

// A cost curve predicts the trials of planned mode.
func TestCostCurve(t *testing.T) {
	t.Parallel()
	o := settings.NewProfile()
	o.Models = []settings.Model{{Name: "m"}}
	o.Search.CostCurve = []string{"../simulate/testdata/curve.csv"}
	s := profile.Subject{Mode: settings.Planned, Devices: 1, Models: []profile.Model{{
		Model: o.Models[0], Config: &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 8},
	}}}
	planned, err := plannedOptions(o, s, nil)
	require.NoError(t, err)
	proposal := trial.Proposal{Members: []trial.ProposedMember{{Model: "m", Load: trial.Load{Batch: 1, Concurrency: 1}}}}
	throughput, _, ok := planned.Predict(proposal)
	require.True(t, ok)
	assert.InEpsilon(t, 500, throughput, 0.01, "a batch of one takes 2 ms")

	o.Search.CostCurve = []string{"none"}
	_, err = newSearch(o, nil)(s)
	require.ErrorContains(t, err, "--cost-curve none")
	s.Mode = settings.Quick
	planned, err = plannedOptions(o, s, nil)
	require.NoError(t, err)
	assert.Nil(t, planned.Predict)
}

// TestModeOfSubject: each search has the mode of its models.
func TestModeOfSubject(t *testing.T) {
	t.Parallel()
	o := settings.NewProfile()
	m := profile.Model{Model: settings.Model{Name: "m", BatchSizes: []int{1}, Concurrency: []int{3}}, Config: &inferencepb.ModelConfig{}}
	for mode, want := range map[string]int{settings.Brute: 3, settings.Quick: 2} {
		s, err := newSearch(o, func(string) {})(profile.Subject{Models: []profile.Model{m}, Mode: mode})
		require.NoError(t, err)
		p, ok := s.Next(nil)
		require.True(t, ok)
		assert.Equal(t, want, p.Members[0].Load.Concurrency, mode)
		s.Stop()
	}
}

// The first signal lets the running measurement finish, the third one ends at once.
func TestSignals(t *testing.T) {
	t.Parallel()
	c := make(chan os.Signal)
	p := process.Process{Signals: func() (<-chan os.Signal, func()) { return c, func() {} }}
	var out bytes.Buffer
	ctx, interrupt, stop := signals(t.Context(), p, &progress{w: &out})
	c <- syscall.SIGINT
	<-interrupt
	c <- syscall.SIGINT
	require.NoError(t, ctx.Err())
	c <- syscall.SIGINT
	<-ctx.Done()
	stop()
	assert.Contains(t, out.String(), "WARNING: Received SIGINT 1/3. Will attempt to exit after current measurement.\nWARNING: Received SIGINT 2/3. Will")
	assert.Contains(t, out.String(), "SIGINT 3/3. Exiting; finished measurements are in the checkpoint.")
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{w: &out}
	p.start(false)
	p.observe(profile.Searching{Subject: profile.Subject{Models: []profile.Model{{Model: settings.Model{Name: "m"}}}}})
	config := trial.Config{Members: []trial.Member{{Variant: trial.Variant{Model: "m", Name: "m_config_0"}, Load: trial.Load{Batch: 1, RequestRate: 9}}}}
	result := func(throughput float64) trial.Result {
		return trial.Result{Config: config, Measurement: &trial.Measurement{Members: []trial.Values{{trial.Throughput: throughput, trial.LatencyP99: 2}}}}
	}
	p.observe(profile.Measuring{Config: config})
	p.observe(profile.Measured{Result: result(100)})
	p.observe(profile.Measured{Result: result(50), Reused: true})
	p.observe(profile.Measured{Result: trial.Result{Config: config, Failure: &trial.Failure{Err: errors.New("no memory\n\n")}}})
	p.observe(profile.Searched{Report: &profile.ModelReport{Name: "m", Results: []trial.Result{result(100), result(50), {Config: config}}, Reason: "enough"}})
	assert.Equal(t, `Searching for the best configuration of m
[1] m_config_0, batch 1, request rate 9: 100.0 infer/sec, p99 2.00 ms, the best so far
[2] m_config_0, batch 1, request rate 9: 50.0 infer/sec, p99 2.00 ms (from the checkpoint)
[3] m_config_0, batch 1, request rate 9: failed: no memory
Search of m is over after 3 trials: enough
Recommended: m_config_0, batch 1, request rate 9: 100.0 infer/sec, p99 2.00 ms
`, out.String())
	view := p.render(60, 10)
	assert.Contains(t, view, "m  3 trials, 1 failed")
	assert.Contains(t, view, "best  m_config_0")
	require.NoError(t, p.stop())
}

// TestRecommended: the last line obeys the intervals as the reports do.
func TestRecommended(t *testing.T) {
	t.Parallel()
	of := func(name string, throughput float64, patch trial.Patch) trial.Result {
		return trial.Result{
			Config: trial.Config{Members: []trial.Member{{Variant: trial.Variant{Model: "m", Name: name, Patch: patch}, Load: trial.Load{Batch: 1, Concurrency: 2}}}},
			Measurement: &trial.Measurement{
				Members:    []trial.Values{{trial.Throughput: throughput, trial.LatencyP99: 2}},
				Confidence: map[trial.Metric]trial.Interval{trial.Throughput: {Low: throughput - 8, High: throughput + 8}},
			},
		}
	}
	for _, c := range []struct {
		throughput float64
		want       string
	}{
		{110, `Search of m is over after 2 trials: enough
No configuration is better than the default beyond noise; the best figures:
  m_config_0, batch 1, concurrency 2: 110.0 infer/sec, p99 2.00 ms
Recommended: m_config_default, batch 1, concurrency 2: 100.0 infer/sec, p99 2.00 ms
`},
		{120, `Search of m is over after 2 trials: enough
Recommended: m_config_0, batch 1, concurrency 2: 120.0 infer/sec, p99 2.00 ms
`},
	} {
		results := []trial.Result{of("m_config_default", 100, nil), of("m_config_0", c.throughput, trial.Patch{"max_batch_size": 8})}
		p := &progress{w: io.Discard}
		p.observe(profile.Searching{Subject: profile.Subject{Models: []profile.Model{{Model: settings.Model{Name: "m"}}}}})
		for _, r := range results {
			p.observe(profile.Measured{Result: r})
		}
		var out bytes.Buffer
		p.w = &out
		p.observe(profile.Searched{Report: &profile.ModelReport{Name: "m", Results: results, Reason: "enough"}})
		assert.Equal(t, c.want, out.String())
	}
}
