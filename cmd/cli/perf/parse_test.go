package perf

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/sharedtest"
)

// TestFlagsReachOptions follows options of perf_analyzer, and settings from the
// environment and a file, to the fields that they set.
func TestFlagsReachOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "perf.yaml")
	require.NoError(t, os.WriteFile(file, []byte("max-trials: 4\ninput-data: random\nshape: [\"A:1\", \"B:2,3\"]\n"), 0o600))
	for _, c := range []struct {
		line, environ string
		got           func(o *options) any
		want          any
	}{
		{"", "", func(o *options) any { return o.client.Address }, "localhost:8000"},
		{"-i grpc", "", func(o *options) any { return o.client }, client.Options{Address: "localhost:8001", Protocol: client.GRPC, Headers: map[string]string{}}},
		{"-H a:b:c -H d:", "", func(o *options) any { return o.client.Headers }, map[string]string{"a": "b:c", "d": ""}},
		{"-b 1,4:8:4", "", func(o *options) any { return o.config.Batches }, []int{1, 4, 8}},
		{"--concurrency-range 2:8:3", "", func(o *options) any { return o.config.Range }, perf.Range{Start: 2, End: 8, Step: 3}},
		{"--concurrency-range 1,4,2", "", func(o *options) any { return o.config.Range.List }, []float64{1, 4, 2}},
		{"--concurrency-range 1,4:12:4,8,64", "", func(o *options) any { return o.config.Range.List }, []float64{1, 4, 8, 12, 64}},
		{"--request-rate-range 100,500", "", func(o *options) any { return o.config.Range.List }, []float64{100, 500}},
		{"--request-rate-range 0.5:1.5:0.5,100", "", func(o *options) any { return o.config.Range.List }, []float64{0.5, 1, 1.5, 100}},
		{"--request-rate-range 0.5:2", "", func(o *options) any { return o.config.Range }, perf.Range{Start: 0.5, End: 2, Step: 1}},
		{"--request-rate-range 10 --request-distribution poisson", "", func(o *options) any { return [2]any{o.config.Mode, o.config.Distribution} }, [2]any{perf.RequestRate, perf.Poisson}},
		{"-t 4 --request-rate-range 10", "", func(o *options) any { return [2]any{o.config.Mode, o.config.Range.Start} }, [2]any{perf.Concurrency, 4.0}},
		{"--sequence-id-range 3:9 --num-of-sequences 2 --sequence-length-variation 50", "", func(o *options) any { return o.config.Sequences }, perf.Sequences{Slots: 2, Variation: 0.5, FirstID: 3, IDCount: 6}},
		{"--random-seed 18446744073709551615", "", func(o *options) any { return o.config.Seed }, uint64(math.MaxUint64)},
		{"--random-steps 3 --input-range A:0:9 --input-range b:c:-1:.5", "", func(o *options) any { return [2]any{o.config.Data.Steps, o.config.Data.Ranges} }, [2]any{3, map[string]data.Range{"A": {Low: "0", High: "9"}, "b:c": {Low: "-1", High: ".5"}}}},
		{"-p 70ms -l 5", "", func(o *options) any { return [2]time.Duration{o.config.Interval, o.config.LatencyLimit} }, [2]time.Duration{70 * time.Millisecond, 5 * time.Millisecond}},
		{"-p 5s -l 1m30s", "", func(o *options) any { return [2]time.Duration{o.config.Interval, o.config.LatencyLimit} }, [2]time.Duration{5 * time.Second, 90 * time.Second}},
		{"-l 250us", "TRITON_MEASUREMENT_INTERVAL=2s", func(o *options) any { return [2]time.Duration{o.config.Interval, o.config.LatencyLimit} }, [2]time.Duration{2 * time.Second, 250 * time.Microsecond}},
		{"-p 500x -l 29.5", "", func(o *options) any { return [2]time.Duration{o.config.Interval, o.config.LatencyLimit} }, [2]time.Duration{500 * time.Millisecond, 29 * time.Millisecond}},
		{"--collect-metrics --metrics-interval 1s", "", func(o *options) any { return o.config.MetricsInterval }, time.Second},
		{"--output json", "", func(o *options) any { return o.targets }, flags.OutputTargets{{Form: "json", File: "-"}}},
		{"-o DIR/a.json -o DIR/b.md", "TRITON_PERF_NO_TUI=true", func(o *options) any { return [2]any{len(o.targets), o.noTUI} }, [2]any{2, true}},
		{"", "TRITON_OUTPUT=DIR/a.html", func(o *options) any { return o.targets[0].Form }, "html"},
		{"--request-count 7 --request-count 9", "", func(o *options) any { return [2]int{o.config.RequestCount, o.config.Samples} }, [2]int{7, 7}},
		{"--repeat 3 --concurrency-range 1,8", "", func(o *options) any { return o.config.Repeats }, 3},
		{"--collect-metrics -u http://h:1/x", "", func(o *options) any { return o.config.MetricsURL }, "h:8002/metrics"},
		{"", "TRITON_MAX_TRIALS=2 TRITON_PERF_MAX_TRIALS=3", func(o *options) any { return o.config.MaxTrials }, 3},
		{"--config FILE", "", func(o *options) any { return o.config.MaxTrials }, 4},
		{"--config FILE", "TRITON_MAX_TRIALS=5", func(o *options) any { return o.config.MaxTrials }, 5},
		{"--config FILE -r 6", "TRITON_MAX_TRIALS=5", func(o *options) any { return o.config.MaxTrials }, 6},
		{"--config FILE", "", func(o *options) any { return o.config.Data.Shapes }, map[string][]int64{"A": {1}, "B": {2, 3}}},
		{"", "TRITON_ASYNC=true TRITON_VERBOSE_CSV=0", func(o *options) any { return [2]bool{o.config.Async, o.csvVerbose} }, [2]bool{true, false}},
		// The command line wins over a setting of another option with the same field.
		{"--config FILE -z", "", func(o *options) any { return o.config.Data.Source }, data.Zero},
	} {
		paths := strings.NewReplacer("FILE", file, "DIR", filepath.Dir(file))
		args := strings.Fields(paths.Replace("-m x " + c.line))
		o, err := parse(process.Process{Environ: strings.Fields(paths.Replace(c.environ))}, args)
		require.NoError(t, err, c.line)
		require.Equal(t, c.want, c.got(o), c.line)
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	all, err := intervals("f", "5\n0\n 7 \n")
	require.NoError(t, err)
	require.Equal(t, []time.Duration{5 * time.Microsecond, 0, 7 * time.Microsecond}, all)
	for content, want := range map[string]string{
		"":                    "file 'f' is empty",
		"1\n-2":               `f:2: "-2" is not an interval, a whole number of microseconds`,
		"1\n\n2":              `f:2: "" is not an interval, a whole number of microseconds`,
		"0\n0":                "f: the intervals must not all be 0",
		"9223372036854775807": `f:1: "9223372036854775807" is not an interval, a whole number of microseconds`,
		"9223372036854775\n9223372036854775\n9223372036854775": "f:2: the sum of the intervals is more than 292 years",
	} {
		_, err := intervals("f", content)
		require.EqualError(t, err, want, content)
	}
}

// TestUnitWarnings: perf_analyzer reads the number at the start, in milliseconds.
func TestUnitWarnings(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"-p 500ms -l 50":           nil,
		"-p 500 -l 0":              nil,
		"-p 5s":                    {"WARNING: --measurement-interval 5s is read as 5s. perf_analyzer reads 5 msec."},
		"-l 1.5s":                  {"WARNING: --latency-threshold 1.5s is read as 1.5s. perf_analyzer reads 1 msec."},
		"-l .5s":                   {"WARNING: --latency-threshold .5s is read as 500ms. perf_analyzer does not read it."},
		"--concurrency-range 1:4":  nil,
		"--concurrency-range 1,4":  {"WARNING: --concurrency-range 1,4 is read as a list of levels. perf_analyzer reads only its first number."},
		"--request-rate-range 5,9": {"WARNING: --request-rate-range 5,9 is read as a list of levels. perf_analyzer reads only its first number."},
	} {
		o, err := parse(process.Process{}, strings.Fields("-m x "+line))
		require.NoError(t, err, line)
		var got []string
		for _, one := range o.warnings {
			require.True(t, one.own, "perf_analyzer has no such warning")
			got = append(got, one.text)
		}
		require.Equal(t, want, got, line)
	}
}

// TestWarningsFit: own warnings fit the terminal, those of perf_analyzer are one line.
func TestWarningsFit(t *testing.T) {
	t.Parallel()
	o, err := parse(process.Process{}, strings.Fields("-m x --request-rate-range 5,9 -p 500ms -i grpc --input-tensor-format json stray"))
	require.NoError(t, err)
	require.NotEmpty(t, o.warnings)
	sharedtest.GoldenWidths(t, "warnings", func(w io.Writer) error {
		writeWarnings(w, o.warnings)
		return nil
	})
	theirs := "Warning: --max-threads is deprecated and will be removed in an upcoming version. Use something else instead."
	var b strings.Builder
	writeWarnings(&b, []warning{{theirs, false}})
	require.Equal(t, theirs+"\n", b.String())
}

// TestEveryOptionIsASetting: all options have a long name, which the environment and the
// configuration file use. Only those for the command line itself are no settings.
func TestEveryOptionIsASetting(t *testing.T) {
	t.Parallel()
	set := newOptions().flags(process.Process{})
	file := filepath.Join(t.TempDir(), "perf.yaml")
	for _, group := range set.Groups() {
		for _, name := range group.Names {
			if group.Title == "" || name == "help" || name == "version" || name == "config" {
				continue
			}
			require.False(t, strings.HasPrefix(name, "-"), "%s has no long name", name)
			require.NoError(t, os.WriteFile(file, []byte(name+": 1\n"), 0o600))
			all, err := set.Settings(file)
			require.NoError(t, err)
			require.Len(t, all, 1, name)
		}
	}
}
