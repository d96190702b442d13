package analyze

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
	"triton/cmd/cli/flags"
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
		"--latency-budget", "2.5", "--memory", "1.5GiB", "--memory-headroom", "10", "--device", "0,GPU-1",
		"--max-instances", "6", "--min-gain", "3", "--no-verify", "--budget", "10m", "--stress-time", "1", "--tolerance", "1", "--output-directory", "out",
		"-o", "x.md", "-f", "x.csv", "--json", "x.json", "-i", "http", "-p", "50", "-s", "7", "-r", "3", "--shape", "IN:1,2",
		"--input-data", "zero", "--string-length", "5", "--model-config-name", "large", "--backend-config", "default-max-batch-size=8", "--backend-config", "b,k=v",
		"--disable-auto-complete-config", "--server-flag", "id=x", "--server-flag", "--log-info=1", "--load-timeout", "9",
	}))
	o, err := a.options()
	require.NoError(t, err)
	require.Equal(t, "echo", o.Model)
	require.Equal(t, []string{"a", "b"}, o.Repositories)
	require.Equal(t, memory.Space{Instances: []int{1, 2, 3}, Batches: []int{2, 4}, Concurrencies: []int{8}}, o.Space)
	require.Equal(t, 2500*time.Microsecond, o.LatencyBudget)
	require.Equal(t, uint64(3<<29), o.Memory)
	require.EqualValues(t, 100, o.Footprint.Headroom(1000))
	require.Equal(t, []string{"0", "GPU-1"}, o.Devices)
	require.Equal(t, 6, o.Footprint.MaxInstances)
	require.InDelta(t, 0.03, o.Footprint.MinGain, 1e-9)
	require.False(t, o.Footprint.Verify)
	require.Equal(t, time.Second, o.StressTime)
	require.Equal(t, 10*time.Minute, o.Footprint.Budget)
	require.InDelta(t, 0.01, o.Tolerance, 1e-9)
	require.Equal(t, "out", o.directory)
	require.ElementsMatch(t, flags.OutputTargets{{Form: "markdown", File: "x.md"}, {Form: "csv", File: "x.csv"}, {Form: "json", File: "x.json"}}, o.targets)
	require.Equal(t, client.HTTP, o.client.Protocol)
	require.Equal(t, 50*time.Millisecond, o.load.Interval)
	require.InDelta(t, 0.07, o.load.Stability, 1e-9)
	require.Equal(t, 3, o.load.MaxTrials)
	require.Equal(t, map[string][]int64{"IN": {1, 2}}, o.load.Data.Shapes)
	require.Equal(t, data.Zero, o.load.Data.Source)
	require.Equal(t, 5, o.load.Data.StringLength)
	require.Equal(t, []string{
		"--model-config-name=large", "--backend-config=default-max-batch-size=8", "--backend-config=b,k=v", "--disable-auto-complete-config",
		"--id=x", "--log-info=1",
	}, o.serve)
	require.Equal(t, "large", o.ConfigName)
	require.Equal(t, 9*time.Second, o.wait)
}

// TestQuick checks that --quick changes only what was not given.
func TestQuick(t *testing.T) {
	t.Parallel()
	for _, given := range []bool{false, true} {
		a := &arguments{}
		set := flags.New(process.Process{}, "analyze", pflag.NewFlagSet("analyze", pflag.ContinueOnError))
		a.bind(set)
		args := []string{"-m", "echo", "--model-repository", "a", "--quick"}
		if given {
			args = append(args, "--instance-counts", "7", "-p", "1s", "-r", "9", "--stress-time", "4s")
		}
		require.NoError(t, set.Parse(args))
		a.shorten(set.Changed)
		o, err := a.options()
		require.NoError(t, err)
		require.True(t, o.Footprint.Quick)
		require.Equal(t, 1, o.Footprint.Repeats)
		require.False(t, o.Footprint.Verify)
		if given {
			require.Equal(t, []int{7}, o.Space.Counts())
			require.Equal(t, [2]time.Duration{time.Second, 4 * time.Second}, [2]time.Duration{o.load.Interval, o.StressTime})
			require.Equal(t, 9, o.load.MaxTrials)
			continue
		}
		require.Subset(t, o.Space.Counts(), []int{1, 2, o.Footprint.Processors})
		require.Equal(t, [2]time.Duration{quickInterval, quickStress}, [2]time.Duration{o.load.Interval, o.StressTime})
		require.Equal(t, quickTrials, o.load.MaxTrials)
	}
}

// TestConfigNameAsServerFlag: the analysis knows what the servers are told in either way.
func TestConfigNameAsServerFlag(t *testing.T) {
	t.Parallel()
	a := &arguments{serve: []string{"model-config-name=a", "--model-config-name=b"}}
	o := &options{}
	a.serverFlags(o)
	require.Equal(t, "b", o.ConfigName)
}

func TestExecutions(t *testing.T) {
	t.Parallel()
	counts, err := countExecutions(strings.NewReader(`# HELP triton_instance_exec_count Number of model executions performed, by instance
triton_instance_exec_count{instance="0",model="m",version="2"} 9
triton_instance_exec_count{instance="0",model="m",version="10"} 4
triton_instance_exec_count{instance="1",model="m",version="10"} 5
triton_instance_exec_count{instance="0",model="other \\"x\\"",version="11"} 7
nv_inference_count{model="m",version="1"} 3
`), "m")
	require.NoError(t, err)
	require.Equal(t, []uint64{4, 5}, counts)
	counts, err = countExecutions(strings.NewReader("nv_inference_count 3\n"), "m")
	require.NoError(t, err)
	require.Empty(t, counts, "another server")
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
