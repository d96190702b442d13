package simulate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"triton/analyzer/capacity"
	"triton/cmd/cli/process"
	"triton/perf/recording"
	"triton/pkg/sharedtest"
)

const curveFile = "testdata/curve.csv"

// execute runs a command and returns what it writes.
func execute(t *testing.T, command func(process.Process) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command(process.Process{Stdout: &out, Stderr: &out})
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the test
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	args := []string{"--curve", curveFile, "-m", "resnet50", "--rate", "500,1500", "--max-batch-size", "1,32", "--queue-delay", "off,0,2ms", "--instances", "1:2", "--requests", "5000"}
	for _, form := range []string{"text", "json", "csv", "markdown"} {
		out, err := execute(t, NewCommand, append(args, "--output", form)...)
		require.NoError(t, err)
		sharedtest.GoldenFile(t, "simulate."+form, out)
	}
	out, err := execute(t, NewCommand, append(args, "--output", "html")...)
	require.NoError(t, err)
	require.Contains(t, out, "<table")
}

// TestForms: CSV has the columns of JSON.
func TestForms(t *testing.T) {
	t.Parallel()
	args := []string{"--curve", curveFile, "--concurrency", "4,8", "--preferred-batch-size", "4,8", "--requests", "2000", "--output"}
	text, err := execute(t, NewCommand, append(args, "csv")...)
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	text, err = execute(t, NewCommand, append(args, "json")...)
	require.NoError(t, err)
	var r struct{ Outcomes []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Len(t, r.Outcomes, 2)
	for name := range r.Outcomes[0] {
		require.Contains(t, rows[0], name)
	}
	require.Equal(t, "4 clients", rows[1][0])
}

// TestClosedLaw: n clients that wait for their answers have a latency of n over the throughput
// (Little), and fill batches of n.
func TestClosedLaw(t *testing.T) {
	t.Parallel()
	text, err := execute(t, NewCommand, "--curve", curveFile, "--concurrency", "1,8,64", "--requests", "20000", "--queue-delay", "0", "--output", "json")
	require.NoError(t, err)
	var r struct{ Outcomes []outcome }
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	for _, o := range r.Outcomes {
		require.InEpsilon(t, float64(o.Clients), o.Throughput*o.MeanUs/1e6, 0.02, "%+v", o)
		require.False(t, o.IsOverloaded)
	}
	require.InDelta(t, 1, r.Outcomes[0].MeanBatch, 1e-9)
	require.InEpsilon(t, 32, r.Outcomes[2].MeanBatch, 0.02)
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	args := []string{"--curve", curveFile, "-m", "resnet50", "--rate", "20000", "--p99", "20ms", "--instances-per-device", "4", "--max-batch-size", "8,32", "--queue-delay", "0,2ms", "--requests", "20000"}
	for _, form := range []string{"text", "json", "csv", "markdown"} {
		out, err := execute(t, NewCapacityCommand, append(args, "--output", form)...)
		require.NoError(t, err)
		sharedtest.GoldenFile(t, "capacity."+form, out)
	}
}

// TestNoCapacity: a target that nothing holds has the exit code 1, and the result says why.
func TestNoCapacity(t *testing.T) {
	t.Parallel()
	out, err := execute(t, NewCapacityCommand, "--curve", curveFile, "--rate", "1000", "--p99", "1", "--requests", "1000")
	var exit *process.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, process.Failure, exit.Code)
	require.Contains(t, strings.Join(strings.Fields(out), " "), "p99 of 1ms at 1000/s: no setting holds it; p99 is 2.6ms even with 1024 instances")
	out, err = execute(t, NewCapacityCommand, "--curve", curveFile, "--rate", "1000", "--p99", "1", "--requests", "1000", "--output", "json")
	require.Error(t, err)
	require.True(t, json.Valid([]byte(out)))
}

// TestModelConfig: what the configuration says is the default.
func TestModelConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.pbtxt")
	require.NoError(t, os.WriteFile(file, []byte(`name: "m" backend: "onnxruntime" max_batch_size: 16
		dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 700
			default_queue_policy { max_queue_size: 20 } }
		instance_group [ { count: 3 } ]`), 0o600))
	text, err := execute(t, NewCommand, "--curve", curveFile, "--model-config", file, "--rate", "20000", "--requests", "5000", "--output", "json")
	require.NoError(t, err)
	var r struct {
		Model    string
		Outcomes []outcome
	}
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	o := r.Outcomes[0]
	require.Equal(t, "m", r.Model)
	require.Equal(t, []any{16, int64(700), []int{4, 8}, 3}, []any{o.MaxBatch, *o.DelayUs, o.Preferred, o.Instances})
	require.Greater(t, o.Rejected, 1000, "the queue is full")
	text, err = execute(t, NewCommand, "--curve", curveFile, "--model-config", file, "--rate", "1000", "--requests", "500", "--queue-delay", "off", "--output", "csv")
	require.NoError(t, err)
	require.Contains(t, text, "\n1000/s,1000,0,16,,,3,1,500,500,0")
	_, err = execute(t, NewCommand, "--curve", curveFile, "--model-config", file, "--rate", "20000", "--requests", "5000", "--queue-size", "1", "--queue-timeout", "1ms")
	require.NoError(t, err)
}

// TestCurves: all forms of a cost curve are the same curve.
func TestCurves(t *testing.T) {
	t.Parallel()
	want := []capacity.CurvePoint{{Batch: 1, Instances: 1, Time: 2500 * time.Microsecond, Executions: 40}, {Batch: 8, Instances: 1, Time: 5 * time.Millisecond, Executions: 20}}
	for _, file := range []string{"perf.json", "stats.json"} {
		c, err := readCurve("--curve", []string{"testdata/" + file}, "m")
		require.NoError(t, err, file)
		require.Equal(t, want, c.Points(), file)
	}
	c, err := readCurve("--curve", []string{"testdata/perf.json", "3@testdata/stats.json"}, "m")
	require.NoError(t, err)
	require.Len(t, c.Points(), 4)
	require.Equal(t, 3, c.Points()[2].Instances)
	for file, message := range map[string]string{
		"none.json": "--curve none.json: no such file", "0@testdata/perf.json": "0 is no number of instances",
		"testdata/empty.json": "neither cost_curve nor model_stats",
	} {
		_, err := readCurve("--curve", []string{file}, "m")
		require.ErrorContains(t, err, message)
	}
	_, err = readCurve("--curve", []string{"testdata/perf.json"}, "other")
	require.ErrorContains(t, err, `no executed batches of model "other"`)
}

// TestTraces: a recording, and the lines of the simulator.
func TestTraces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recorded := filepath.Join(dir, "recorded.jsonl")
	f, err := os.Create(recorded)
	require.NoError(t, err)
	w, err := recording.NewWriter(f, recording.Header{})
	require.NoError(t, err)
	for i, rows := range []int64{4, 1} {
		require.NoError(t, w.Write(&recording.Request{
			ArrivalUs: float64(1_000_000 + 10_000*i), Model: "m",
			Inputs: []recording.Tensor{{Name: "IN", DataType: "FP32", Shape: []int64{rows}, Data: make([]byte, 4*rows)}},
		}))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	lines := filepath.Join(dir, "lines.csv")
	require.NoError(t, os.WriteFile(lines, []byte("at_us,rows\n0,4\n10000,1\n"), 0o600))
	var outs []string
	for _, file := range []string{recorded, lines} {
		out, err := execute(t, NewCommand, "--curve", curveFile, "--trace", file, "--speed", "2", "--output", "csv")
		require.NoError(t, err)
		outs = append(outs, out)
	}
	require.Equal(t, outs[0], outs[1])
	require.Contains(t, outs[0], "\ntrace,0,0,32,0,,1,1,2,2,0,0,0,")
	_, err = execute(t, NewCommand, "--curve", curveFile, "--trace", recorded, "-m", "other")
	require.ErrorContains(t, err, "no requests")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	with := func(args ...string) []string { return append([]string{"--curve", curveFile}, args...) }
	for _, test := range []struct {
		command func(process.Process) *cobra.Command
		args    []string
		want    string
	}{
		{NewCommand, nil, "--curve FILE is required"},
		{NewCommand, with(), "give one load"},
		{NewCommand, with("--rate", "1", "--trace", "x"), "give one load"},
		{NewCommand, with("--rate", "fast"), `"fast" is not a number`},
		{NewCommand, with("--rate", "-1"), "the rate -1 is not above 0"},
		{NewCommand, with("--rate", "1", "--rows", "0"), "a request has 1 to"},
		{NewCommand, with("--rate", "1", "--arrivals", "bursts"), `"bursts" is neither poisson nor constant`},
		{NewCommand, with("--rate", "1", "--instances", "4:1"), "ends before it begins"},
		{NewCommand, with("--rate", "1", "--instances", "1:2:3:4"), "is not a range"},
		{NewCommand, with("--rate", "1", "--max-batch-size", "0"), `"0" is not a number from 1`},
		{NewCommand, with("--rate", "1", "--queue-delay", "soon"), `"soon" is neither off nor a time`},
		{NewCommand, with("--rate", "1", "--instances", "1:1000", "--max-batch-size", "1:1000"), "combinations are more than"},
		{NewCommand, with("--rate", "1", "--instances", "1:100000"), "more than 10000 numbers"},
		{NewCommand, with("--rate", "1", "--instances", "100000", "--devices", "100000"), "are more than 100000 instances"},
		{NewCommand, with("--rate", "1", "--overhead", "-1"), "are not negative"},
		{NewCommand, with("--rate", "1", "--queue-size", "5", "--max-batch-size", "1"), "belong to dynamic batching"},
		{NewCommand, with("--trace", "none"), "no such file"},
		{NewCommand, with("--trace", curveFile), "column 'batch' is unknown"},
		{NewCommand, with("--trace", curveFile, "--speed", "0"), "--speed: 0 is not above 0"},
		{NewCommand, with("--rate", "1", "--output", "pdf"), "unknown form"},
		{NewCommand, with("--rate", "1", "--model-config", "none"), "--model-config"},
		{NewCommand, with("--rates", "1"), "did you mean --rate?"},
		{NewCommand, with("--rate", "1", "more"), `unexpected argument "more"`},
		{NewCapacityCommand, with("--rate", "1"), "--p99 TIME is required"},
		{NewCapacityCommand, with("--rate", "1,2", "--p99", "5"), "capacity takes one load"},
		{NewCapacityCommand, with("--rate", "1", "--p99", "5", "--refused", "100"), "is no percentage"},
		{NewCapacityCommand, with("--rate", "1", "--p99", "5", "--max-instances", "0"), "--max-instances is from 1"},
	} {
		_, err := execute(t, test.command, test.args...)
		require.ErrorContains(t, err, test.want, "%v", test.args)
		var exit *process.ExitError
		require.True(t, errors.As(err, &exit), "%v", test.args)
		require.Equal(t, process.Usage, exit.Code)
	}
}
