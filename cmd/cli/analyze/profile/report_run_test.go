package profile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/analyze/profile"
	"triton/cmd/cli/process"
)

// recorded is a folder with a checkpoint of Model Analyzer.
var recorded = filepath.Join("..", "..", "..", "..", "analyzer", "report", "testdata", "modelanalyzer", "gpu")

func runReport(args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	cmd := profile.NewReport(process.Process{Stdout: &out, Stderr: &log, Version: "1.2"})
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the test
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), log.String(), err
}

// TestReport writes reports of a checkpoint that Model Analyzer has written.
func TestReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, log, err := runReport("-s", recorded, "-e", dir, "-n", "tiny_config_3,tiny_config_default", "-o", "csv,svg")
	require.NoError(t, err)
	require.Empty(t, stdout)
	for _, name := range []string{
		"reports/detailed/tiny_config_3/detailed_report.html", "reports/detailed/tiny_config_default/detailed_report.csv",
		"plots/detailed/tiny_config_3/latency_breakdown.svg", "plots/simple/tiny_config_3/gpu_power_v_latency.svg",
	} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	require.NoFileExists(t, filepath.Join(dir, "reports/detailed/tiny_config_3/detailed_report.pdf"))
	require.Contains(t, log, "Exporting Detailed Report to "+filepath.Join(dir, "reports/detailed/tiny_config_3/detailed_report.html"))
	page, err := os.ReadFile(filepath.Join(dir, "reports/detailed/tiny_config_3/detailed_report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "Written by triton analyze report 1.2.")
	require.Contains(t, string(page), "3 measurement(s) were obtained for the model config on GPU(s) 2 x NVIDIA A100 with total memory 160.0 GB.")

	_, log, err = runReport("-q", "-s", recorded, "-e", dir, "-n", "tiny_config_0")
	require.NoError(t, err)
	require.Empty(t, log)
	require.FileExists(t, filepath.Join(dir, "reports/detailed/tiny_config_0/detailed_report.pdf"), "the default format")
}

// TestPlots: plots are those of the variant, or those of the file.
func TestPlots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
checkpoint_directory: `+recorded+`
export_path: `+dir+`
output_formats: svg
plots:
  wait: {title: Wait, x_axis: concurrency, y_axis: perf_client_response_wait, monotonic: false}
report_model_configs:
  tiny_config_3:
    plots:
      power: {title: Power, x_axis: gpu_power_usage, y_axis: perf_throughput, monotonic: true}
  tiny_config_2: {}
`), 0o600))
	_, _, err := runReport("-f", file)
	require.NoError(t, err)
	for variant, want := range map[string]string{"tiny_config_3": "power.svg", "tiny_config_2": "wait.svg"} {
		entries, err := os.ReadDir(filepath.Join(dir, "plots", "simple", variant))
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, want, entries[0].Name())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, _, err := runReport("-s", recorded, "-e", dir, "-n", "tiny_config_9,tiny_config_1")
	require.EqualError(t, err, "the checkpoint has no measurement of tiny_config_9; it has tiny_config_0, tiny_config_1, tiny_config_2, tiny_config_3, tiny_config_default")
	require.FileExists(t, filepath.Join(dir, "reports/detailed/tiny_config_1/detailed_report.html"), "the others are written")
	_, _, err = runReport("-s", dir, "-e", dir, "-n", "tiny_config_1")
	require.EqualError(t, err, "no checkpoint file found in "+dir+": run `triton analyze profile` first, or name the folder with --checkpoint-directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0.ckpt"), []byte(`{"ResultManager.results": `), 0o600))
	_, _, err = runReport("-s", dir, "-e", dir, "-n", "tiny_config_1")
	require.ErrorContains(t, err, "is empty or corrupted")
}
