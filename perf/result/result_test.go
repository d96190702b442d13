package result_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/result"
	"triton/pkg/measure"
	"triton/pkg/sharedtest"
)

// report has every field of the file.
func report() *perf.Report {
	percentiles := []perf.Percentile{
		{P: 50, Latency: time.Millisecond, Samples: 100, Interval: perf.Interval{Low: 9e5, High: 1.1e6}},
		{P: 99, Latency: 2500 * time.Nanosecond, Samples: 100, Interval: perf.Interval{Low: 2000, High: math.Inf(1)}},
	}
	counted := perf.Level{
		Number: 2, Batch: 4, Load: perf.Load{Mode: perf.RequestRate, Value: 100.5}, Stable: true, Trials: 3,
		WarmUp: perf.WarmUp{Requests: 7, Duration: time.Second}, Grade: "B", ClientLimit: "slow", Late: "late",
		Detail: perf.Detail{
			Start: time.Date(2026, 1, 2, 3, 4, 5, 6789e5, time.UTC),
			Windows: []perf.Window{
				{Duration: time.Second, Err: errors.New("no requests")},
				{Start: time.Second, Duration: time.Second, Requests: 100, Throughput: 400, Stabilizing: time.Millisecond, Counted: true},
			},
			Timeline:  []perf.Moment{{Start: time.Second, Duration: time.Second, Requests: 100, AvgLatency: time.Millisecond, Percentiles: percentiles}},
			Histogram: []measure.Bucket{{Low: 900, High: 1100, N: 99}, {Low: 2000, High: 3000, N: 1}},
		},
		Summary: perf.Summary{
			Requests: 100, Duration: time.Second, Throughput: 400.25, AvgLatency: 1500 * time.Microsecond, StdDev: 12,
			P999: perf.Percentile{P: 99.9, Latency: time.Second, Samples: 100}, MaxLatency: 2 * time.Second, Errors: 3,
			ThroughputInterval: perf.Interval{Low: 390, High: 410}, AvgInterval: perf.Interval{Low: 1.4e6, High: 1.6e6},
			Process:     &perf.Process{CPU: time.Second, Duration: time.Second, Cores: 2, Machine: 0.75, Delay: 20 * time.Microsecond, DelayP99: time.Millisecond},
			Percentiles: percentiles, Stabilizing: 1500 * time.Microsecond, Sequences: 3, Responses: 100, ResponseThroughput: 100,
			Schedule: &perf.ScheduleStats{SendRate: 100, Delayed: 2, MaxLate: time.Second, AvgLatency: time.Millisecond, Percentiles: percentiles},
			Client:   perf.ClientTimes{Completed: 100, Request: 9e5, Send: 1e5, Receive: 2e5}, Overhead: 0.5,
			Server: &perf.ServerStats{
				Model: "m", Version: "1", Inferences: 400, Executions: 60, Success: perf.Statistic{Count: 100, Ns: 5e7}, Queue: perf.Statistic{Count: 100, Ns: 1e7},
				CacheHit:  perf.Statistic{Count: 1, Ns: 1500},
				Batches:   []perf.BatchStats{{Size: 4, Executions: 20, ComputeInfer: perf.Statistic{Count: 20, Ns: 2e6}}, {Size: 8, Executions: 40}},
				Composing: []perf.ServerStats{{Model: "part", Version: "2", Inferences: 400}},
			},
			GPU: &perf.GPUStats{Utilization: map[string]float64{"GPU-1": 0.5}, Power: map[string]float64{"GPU-1": math.NaN(), "GPU-0": 71}},
		},
	}
	first := perf.Level{Number: 1, Batch: 1, Load: perf.Load{Mode: perf.RequestRate, Value: 1}}
	first.Requests, first.StdDev, first.Throughput = 1, math.MaxUint64, math.Inf(1)
	r := &perf.Report{Settings: perf.Settings{Config: perf.DefaultConfig("m"), Protocol: "HTTP"}, Levels: []perf.Level{counted}, Failed: []perf.Level{first}}
	r.Settings.Mode, r.Settings.Seed = perf.RequestRate, 7
	r.Settings.StopWhen = []perf.Goal{{Figure: "p99", Width: 0.05}}
	r.Settings.Range = perf.Range{Start: 1, End: 100.5, Step: 99.5}
	return r
}

func options() result.Options {
	return result.Options{
		Version: "1.2", Commit: "abc", URL: "http://me:secret@host:8000/x?token=1",
		Machine: result.Machine{Host: "h", OS: "linux", Arch: "amd64", CPU: "c", CPUs: 2, GoVersion: "go1"},
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func TestWriteIsStable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, result.Write(&b, report(), options()))
	name := filepath.Join("testdata", "result.json")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
	require.NotContains(t, b.String(), "secret")
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, result.Write(&b, report(), options()))
	f, err := result.Read(&b)
	require.NoError(t, err)
	require.Equal(t, result.New(report(), options()), f)
	require.Equal(t, []int{1, 2}, []int{f.Levels[0].Number, f.Levels[1].Number}, "in the order measured")
	us, ok := f.Levels[1].Latency.Us(99)
	require.True(t, ok)
	require.Equal(t, 2.5, us)
	_, ok = f.Levels[1].Latency.Us(12)
	require.False(t, ok)
}

func TestReadToleratesUnknownFields(t *testing.T) {
	t.Parallel()
	f, err := result.Read(strings.NewReader(`{"format":"triton-perf-result","version":1,"new":{"a":[1]},"levels":[{"load":2,"newer":true}]}`))
	require.NoError(t, err)
	require.Equal(t, 2.0, f.Levels[0].Load)
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	file := func(rest string) string { return `{"format":"triton-perf-result","version":1,` + rest + `}` }
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {" \n", "line 1, column 1: the file is empty"},
		"no JSON":       {"{\n  \"format\": x}", "line 2, column 13: invalid character 'x'"},
		"cut off":       {file(`"levels":[{`)[:50], "line 1, column "},
		"a list":        {`[]`, "line 1, column 1: "},
		"another file":  {`{"data":[]}`, `this is no result of triton perf (its "format" would be "triton-perf-result")`},
		"newer":         {`{"format":"triton-perf-result","version":2}`, "version 2 of the format, and this program reads up to version 1"},
		"no version":    {`{"format":"triton-perf-result"}`, `"version" must be a whole number`},
		"type":          {file("\n\"levels\":[{\"load\":\"x\"}]"), `line 2, column 21: "levels.load" cannot be a string`},
		"negative":      {file(`"levels":[{},{"duration_s":-1}]`), `levels[1]: "duration_s" is -1`},
		"no percentile": {file(`"levels":[{"latency":{"percentiles":[{"percentile":0}]}}]`), "levels[0]: there is no percentile 0"},
		"descending":    {file(`"levels":[{"latency":{"percentiles":[{"percentile":9},{"percentile":9}]}}]`), "percentiles must ascend"},
		"buckets":       {file(`"levels":[{"latency_histogram":[{"low_us":2,"high_us":2}]}]`), "latency_histogram[0]: buckets must ascend"},
		"moment":        {file(`"levels":[{"timeline":[{"requests":-1}]}]`), "timeline[0]: its duration"},
		"mode":          {`{"experiments":[{"experiment":{"mode":"x"}}]}`, `experiments[0]: the mode "x" is not known`},
		"backwards":     {`{"experiments":[{"experiment":{"mode":"concurrency"},"requests":[{"timestamp":5,"response_timestamps":[4]}]}]}`, "requests[0]: it ends before it starts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := result.Read(strings.NewReader(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
	name := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	_, err := result.ReadFile(name)
	require.ErrorContains(t, err, "bad.json: line 1, column")
	_, err = result.ReadFile(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// An export of perf_analyzer has four windows of a second, of which the last three count, and
// 10 requests in each, of 1 to 10 ms.
func TestReadExport(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"experiments":[{"experiment":{"mode":"concurrency","value":4},"requests":[{"timestamp":5,"response_timestamps":[]}`)
	const second = int64(1e9)
	epoch := 1_700_000_000 * second
	for i := range int64(40) {
		end := epoch + i*second/10 + second/20
		start := end - (i%10+1)*1e6
		b.WriteString(`,{"timestamp":` + itoa(start) + `,"request_inputs":{"X":[1]},"response_timestamps":[` + itoa(end-1) + `,` + itoa(end) + `]}`)
	}
	b.WriteString(`],"window_boundaries":[` + itoa(epoch) + `,` + itoa(epoch+second) + `,` + itoa(epoch+2*second) + `,` + itoa(epoch+3*second) + `,` + itoa(epoch+4*second) + `]},` +
		`{"experiment":{"mode":"request_rate","value":0.0},"requests":[],"window_boundaries":[]}],"version":"2.51","service_kind":"triton","endpoint":""}`)
	f, err := result.Read(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, result.Program{Name: "perf_analyzer", Version: "2.51"}, f.Program)
	require.Len(t, f.Levels, 2)
	l := f.Levels[0]
	require.Equal(t, 30, l.Requests)
	require.Equal(t, 3.0, l.DurationS)
	require.InDelta(t, 10, l.Throughput, 1e-6)
	require.Equal(t, 5500.0, l.Latency.AvgUs)
	p50, _ := l.Latency.Us(50)
	require.Equal(t, 6000.0, p50)
	require.Len(t, l.Timeline, 3)
	require.Equal(t, 1.0, l.Timeline[0].StartS)
	require.Equal(t, 10, l.Timeline[2].Requests)
	require.Zero(t, f.Levels[1].Requests)
}

// Exports of runs without windows have a boundary that is no time. Such a run is one window.
func TestReadExportWithoutWindows(t *testing.T) {
	t.Parallel()
	const epoch = int64(1_700_000_000_000_000_000)
	f, err := result.Read(strings.NewReader(`{"experiments":[{"experiment":{"mode":"request_rate","value":0},"requests":[` +
		`{"timestamp":` + itoa(epoch) + `,"response_timestamps":[` + itoa(epoch+1e9) + `]},` +
		`{"timestamp":` + itoa(epoch+1e9) + `,"response_timestamps":[` + itoa(epoch+2e9) + `]}],` +
		`"window_boundaries":[0,18446744073709551615]}],"version":"2.51","service_kind":"openai","endpoint":"v1"}`))
	require.NoError(t, err)
	require.Equal(t, 2, f.Levels[0].Requests)
	require.Equal(t, 2.0, f.Levels[0].DurationS)
}

// The file names the kind of the server and every load mode.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[perf.Mode]result.Mode{
		perf.Concurrency: result.Concurrency, perf.RequestRate: result.RequestRate, perf.Intervals: result.Intervals,
		perf.FixedSchedule: result.FixedSchedule, perf.Periodic: result.Periodic, perf.Sessions: result.Sessions,
	} {
		r := report()
		r.Settings.Mode, r.Settings.ServiceKind = mode, "openai"
		s := result.New(r, options()).Settings
		require.Equal(t, want, s.Mode)
		require.Equal(t, mode.Rate(), s.Mode.Rate())
		require.Equal(t, "openai", s.ServiceKind)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func FuzzRead(f *testing.F) {
	for _, name := range []string{"result.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"experiments":[{"experiment":{"mode":"request_rate","value":2.5},"requests":[{"timestamp":1,"response_timestamps":[9]}],"window_boundaries":[0,10]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := result.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		require.Equal(t, result.Format, file.Format)
		require.LessOrEqual(t, file.Version, result.Version)
	})
}
