package profile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/settings"
	"triton/cmd/cli/process"
)

// command runs a command line in a folder with a model repository, and returns the options that
// would be profiled.
func command(t *testing.T, build func(process.Process, profileFunc) *cobra.Command, environ []string, args ...string) (*settings.Profile, string, error) {
	t.Helper()
	var got *settings.Profile
	var errs bytes.Buffer
	cmd := build(process.Process{Environ: environ, Stdout: io.Discard, Stderr: &errs}, func(_ context.Context, _ process.Process, o *settings.Profile) error {
		got = o
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the test
	err := cmd.ExecuteContext(t.Context())
	return got, errs.String(), err
}

func folder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("models", 0o755))
}

func TestPrecedence(t *testing.T) {
	folder(t)
	require.NoError(t, os.WriteFile("config.yaml", []byte("client_max_retries: 1\nexport_path: file\nduration_seconds: 7\nprofile_models: a\n"), 0o600))
	environ := []string{"TRITON_ANALYZE_PROFILE_EXPORT_PATH=environment", "TRITON_CLIENT_MAX_RETRIES=2", "TRITON_CONFIG_FILE=config.yaml"}
	o, _, err := command(t, newCommand, environ, "-m", "models", "-r", "3", "-v", "--mode", "offline")
	require.NoError(t, err)
	assert.Equal(t, 3, o.Client.MaxRetries, "flag")
	assert.Equal(t, "environment", o.Output.ExportPath)
	assert.Equal(t, "7s", o.IdleSampleTime.String(), "file")
	assert.Equal(t, "grpc", o.Client.Protocol, "default")
	assert.True(t, o.Verbose)
	assert.False(t, o.Quiet)
	assert.Equal(t, settings.Offline, o.Mode)
	assert.True(t, o.IsSet("export_path"), "the environment counts as set by the user")
	assert.False(t, o.IsSet("client_protocol"))
}

func TestFlags(t *testing.T) {
	folder(t)
	o, _, err := command(t, newCommand, nil, "-m", "models", "--profile-models", "a,b", "-b", "1,8", "-c=2:6:2", "--perf-output", "--collect-cpu-metrics=false",
		"--run-config-search-max-c", "9", "--gpus", "[]", "-q")
	require.NoError(t, err)
	assert.Len(t, o.Models, 2)
	assert.Equal(t, []int{1, 8}, o.Models[0].BatchSizes)
	assert.Equal(t, []int{2, 4, 6}, o.Models[1].Concurrency)
	assert.True(t, o.Client.Output)
	assert.False(t, o.CollectCPUMetrics)
	assert.True(t, o.IsSet("collect_cpu_metrics"))
	assert.Equal(t, 9, o.Search.Concurrency.Max, "an abbreviation")
	assert.Empty(t, o.GPUs)
	assert.True(t, o.Quiet)
}

func TestDeprecatedCommand(t *testing.T) {
	folder(t)
	o, errs, err := command(t, newDeprecated, nil, "--profile-models", "a")
	require.NoError(t, err)
	assert.True(t, o.Analyze)
	assert.Empty(t, o.ModelRepository)
	assert.Equal(t, "DEPRECATED: Aliased to profile - please use profile subcommand.\n", errs)
}

// TestCodes: a wrong command line has the code 2, wrong options have 1.
func TestCodes(t *testing.T) {
	folder(t)
	for _, c := range []struct {
		args string
		code int
		text string
	}{
		{"--profile-models a", process.Failure, "No model repository specified. Please specify it using the YAML config file or using the --model-repository flag in CLI."},
		{"-b x", process.Usage, `argument -b/--batch-sizes: "x" is not an integer`},
		{"-z", process.Usage, "unrecognized arguments: -z"},
		{"--profil-models a", process.Usage, "unrecognized arguments: --profil-models; did you mean --profile-models?"},
		{"--perf_output", process.Usage, "unrecognized arguments: --perf_output; did you mean --perf-output?"},
		{"a", process.Usage, "unrecognized arguments: a"},
		{"--perf-analyzer", process.Usage, "ambiguous option: --perf-analyzer could match --perf-analyzer-timeout, --perf-analyzer-cpu-util, --perf-analyzer-path, --perf-analyzer-max-auto-adjusts"},
		{"--export-path", process.Usage, "argument -e/--export-path: expected one argument"},
	} {
		_, _, err := command(t, newCommand, nil, strings.Fields(c.args)...)
		var exit *process.ExitError
		require.ErrorAs(t, err, &exit, c.args)
		assert.Equal(t, c.code, exit.Code, c.args)
		assert.EqualError(t, err, c.text, c.args)
	}
	_, _, err := command(t, newCommand, []string{"TRITON_CONCURRENCY=x"}, "--profile-models", "a")
	assert.EqualError(t, err, `environment variable TRITON_CONCURRENCY: --concurrency: "x" is not an integer`)

	failed := errors.New("no device")
	cmd := newCommand(process.Process{Stderr: io.Discard}, func(context.Context, process.Process, *settings.Profile) error { return failed })
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"-m", "models", "--profile-models", "a"})
	assert.ErrorIs(t, cmd.ExecuteContext(t.Context()), failed)
}

// TestHelp: each flag is in the help, the removed ones are not.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand(process.Process{}, nil)
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	require.NoError(t, cmd.Execute())
	words := map[string]bool{}
	for _, w := range strings.Fields(out.String()) {
		words[w] = true
	}
	p := settings.NewProfile()
	for _, o := range p.Options() {
		assert.Equal(t, o.Flag != "", words["--"+o.Flag], o.Flag)
	}
	for _, o := range p.RemovedFlags() {
		assert.False(t, words["--"+o.Flag], o.Flag)
	}
	assert.True(t, words["TRITON_ANALYZE_PROFILE_EXPORT_PATH"])
}
