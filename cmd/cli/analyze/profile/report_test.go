package profile

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/settings"
	"triton/cmd/cli/process"
)

// reportCommand runs a command line and returns the options of the reports.
func reportCommand(t *testing.T, args ...string) (*settings.Report, error) {
	t.Helper()
	var got *settings.Report
	cmd := newReport(process.Process{Stderr: io.Discard}, func(_ context.Context, _ process.Process, o *settings.Report) error {
		got = o
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the test
	err := cmd.ExecuteContext(t.Context())
	return got, err
}

func TestReportFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	o, err := reportCommand(t, "-n", "a_config_1,a_config_default", "-o", "csv,html", "--mode", "offline", "-v")
	require.NoError(t, err)
	assert.Equal(t, []string{"csv", "html"}, o.OutputFormats)
	assert.Equal(t, settings.Offline, o.Mode)
	assert.True(t, o.Verbose)
	require.Len(t, o.Configs, 2)
	assert.Equal(t, "a_config_default", o.Configs[1].Name)
	assert.Equal(t, "throughput_v_batch_size", o.Configs[1].Plots[0].Name)
	assert.False(t, o.AlwaysReportGPUMetrics)

	require.NoError(t, os.WriteFile("off.yaml", []byte("always_report_gpu_metrics: false\n"), 0o600))
	// Model Analyzer's spelling, and the one that it has for profile.
	for _, flag := range []string{"--always_report-gpu-metrics", "--always-report-gpu-metrics"} {
		o, err = reportCommand(t, "-n", "a", flag)
		require.NoError(t, err)
		assert.True(t, o.AlwaysReportGPUMetrics, flag)
		o, err = reportCommand(t, "-n", "a", flag, "-f", "off.yaml")
		require.NoError(t, err)
		assert.True(t, o.AlwaysReportGPUMetrics, "the command line counts, not the file")
	}
}

func TestReportCodes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, process.Failure, "Config for report_model_configs is not specified. You need to specify it using the YAML config file or using the -n, --report-model-configs flags in CLI."},
		{[]string{"-o", "doc"}, process.Usage, "argument -o/--output-formats: invalid choice: 'doc' (choose from 'pdf', 'csv', 'png', 'svg', 'json', 'html')"},
		{[]string{"-m", "x"}, process.Usage, "unrecognized arguments: -m"},
		{[]string{"a"}, process.Usage, "unrecognized arguments: a"},
	} {
		_, err := reportCommand(t, c.args...)
		var exit *process.ExitError
		require.ErrorAs(t, err, &exit, c.args)
		assert.Equal(t, c.code, exit.Code, c.args)
		assert.EqualError(t, err, c.text, c.args)
	}
}
