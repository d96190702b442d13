package analyze

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"triton/analyzer/search"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/output"
	"triton/cmd/cli/process"
	"triton/perf/data"
	"triton/pkg/client"
)

func TestFlagsReachOptions(t *testing.T) {
	t.Parallel()
	a := &arguments{}
	set := flags.New(process.Process{}, "analyze", pflag.NewFlagSet("analyze", pflag.ContinueOnError))
	a.bind(set)
	require.NoError(t, set.Parse([]string{
		"-m", "echo", "--model-repository", "a,b", "--instance-counts", "1:3", "-b", "2,4", "--concurrency", "8",
		"--latency-budget", "2.5", "--memory", "1.5GiB", "--memory-headroom", "10", "--tolerance", "1", "--output-directory", "out",
		"-o", "x.md", "-f", "x.csv", "--json", "x.json", "-i", "http", "-p", "50", "-s", "7", "-r", "3", "--shape", "IN:1,2",
		"--input-data", "zero", "--string-length", "5", "--server-flag", "id=x", "--server-flag", "--log-info=1", "--load-timeout", "9",
	}))
	o, err := a.options()
	require.NoError(t, err)
	require.Equal(t, "echo", o.Model)
	require.Equal(t, []string{"a", "b"}, o.Repositories)
	require.Equal(t, search.Space{Instances: []int{1, 2, 3}, Batches: []int{2, 4}, Concurrencies: []int{8}}, o.Space)
	require.Equal(t, 2500*time.Microsecond, o.LatencyBudget)
	require.Equal(t, uint64(3<<29), o.Memory)
	require.InDelta(t, 0.1, o.Headroom, 1e-9)
	require.InDelta(t, 0.01, o.Tolerance, 1e-9)
	require.Equal(t, "out", o.directory)
	require.ElementsMatch(t, output.Targets{{Form: "markdown", File: "x.md"}, {Form: "csv", File: "x.csv"}, {Form: "json", File: "x.json"}}, o.targets)
	require.Equal(t, client.HTTP, o.client.Protocol)
	require.Equal(t, 50*time.Millisecond, o.load.Interval)
	require.InDelta(t, 0.07, o.load.Stability, 1e-9)
	require.Equal(t, 3, o.load.MaxTrials)
	require.Equal(t, map[string][]int64{"IN": {1, 2}}, o.load.Data.Shapes)
	require.Equal(t, data.Zero, o.load.Data.Source)
	require.Equal(t, 5, o.load.Data.StringLength)
	require.Equal(t, []string{"--id=x", "--log-info=1"}, o.serve)
	require.Equal(t, 9*time.Second, o.wait)
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0, "1": 1, "512B": 512, "2K": 2048, "1kB": 1000, "1.5 GiB": 3 << 29, "1GB": 1e9, "2T": 2 << 40,
	} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"much", "-1", "0", "1X", "GiB", "1e30", "NaN"} {
		_, err := parseSize(text)
		require.Error(t, err, text)
	}
}

func TestTimesWithUnits(t *testing.T) {
	t.Parallel()
	parse := func(args ...string) (*options, error) {
		a := &arguments{}
		set := flags.New(process.Process{}, "analyze", pflag.NewFlagSet("analyze", pflag.ContinueOnError))
		a.bind(set)
		require.NoError(t, set.Parse(append([]string{"-m", "echo", "--model-repository", "a"}, args...)))
		return a.options()
	}
	o, err := parse("-p", "2s", "--latency-budget", "500us", "--load-timeout", "5m")
	require.NoError(t, err)
	require.Equal(t, [3]time.Duration{2 * time.Second, 500 * time.Microsecond, 5 * time.Minute}, [3]time.Duration{o.load.Interval, o.LatencyBudget, o.wait})
	o, err = parse()
	require.NoError(t, err)
	require.Equal(t, [3]time.Duration{time.Second, 0, 2 * time.Minute}, [3]time.Duration{o.load.Interval, o.LatencyBudget, o.wait})
	_, err = parse("-p", "500us")
	require.ErrorContains(t, err, "the measurement interval must be at least 1 ms")
	_, err = parse("--load-timeout", "0")
	require.ErrorContains(t, err, "--load-timeout: 0s is not greater than 0")
	_, err = parse("-o", "x.dat")
	require.ErrorContains(t, err, "-o x.dat: the extension names none of the forms")
}
