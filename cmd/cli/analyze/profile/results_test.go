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

// TestReportsOfCheckpoint: without a model repository the results of a checkpoint are written again;
// here one that Model Analyzer has written, so its files have to come out.
func TestReportsOfCheckpoint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: draws many pages")
	}
	recorded, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "analyzer", "report", "testdata", "modelanalyzer", "gpu"))
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "profile.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
checkpoint_directory: `+recorded+`
export_path: `+dir+`
profile_models:
  tiny: {constraints: {perf_latency_p99: {max: 6}}}
gpu_output_fields: [model_name, gpu_uuid, batch_size, concurrency, model_config_path, instance_group, satisfies_constraints, gpu_used_memory, gpu_utilization, gpu_power_usage, gpu_free_memory]
num_configs_per_model: 1
`), 0o600))
	var out, log bytes.Buffer
	run := func(args ...string) error {
		out.Reset()
		log.Reset()
		cmd := profile.NewDeprecated(process.Process{Stdout: &out, Stderr: &log})
		cmd.SetArgs(append([]string{"-f", file}, args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		return cmd.Execute()
	}
	require.NoError(t, run("-v"))
	read := func(parts ...string) string {
		text, err := os.ReadFile(filepath.Join(parts...))
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, read(recorded, "console.txt"), out.String())
	for _, name := range []string{"metrics-model-inference.csv", "metrics-model-gpu.csv", "metrics-server-only.csv"} {
		require.Equal(t, read(recorded, name), read(dir, "results", name))
	}
	for _, name := range []string{
		"results/profile.json", "plots/simple/tiny/throughput_v_latency.png", "plots/detailed/tiny_config_3/latency_breakdown.png",
		"reports/summaries/tiny/result_summary.html", "reports/summaries/tiny/result_summary.pdf", "reports/detailed/tiny_config_3/detailed_report.json",
	} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	require.NoDirExists(t, filepath.Join(dir, "reports", "detailed", "tiny_config_2"))
	require.Contains(t, log.String(), "Generating detailed reports for the best configurations tiny_config_3:")

	// The result in one file, and alone on standard output.
	require.NoError(t, run("-v", "--output", "json", "--skip-summary-reports", "--skip-detailed-reports"))
	require.JSONEq(t, read(dir, "results", "profile.json"), out.String())
	require.Contains(t, log.String(), "Models (Inference):")
	markdown := filepath.Join(dir, "result.md")
	require.NoError(t, run("-o", markdown, "--skip-summary-reports", "--skip-detailed-reports"))
	require.Contains(t, read(markdown), "| tiny\\_config\\_3 | 8 | Disabled | 4:GPU |")
	require.ErrorContains(t, run("-o", "result.xyz"), "-o result.xyz: the extension names none of the forms")
}
