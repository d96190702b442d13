// Package report is `triton analyze report`: it reads the options, and has detailed reports written
// about variants that profile has measured.
package report

import (
	"context"

	"github.com/spf13/cobra"

	"triton/analyzer/settings"
	"triton/cmd/cli/analyze/binding"
	"triton/cmd/cli/complete"
	"triton/cmd/cli/process"
)

// runner writes reports.
type runner func(ctx context.Context, p process.Process, o *settings.Report) error

// NewCommand returns `triton analyze report`.
func NewCommand(p process.Process) *cobra.Command { return newCommand(p, run) }

func newCommand(p process.Process, run runner) *cobra.Command {
	o := settings.NewReport()
	cmd := &cobra.Command{
		Use:   "report -n VARIANTS [flags]",
		Short: "Write detailed reports about variants of a profile",
		Long: `Write detailed reports about variants that triton analyze profile has measured. Nothing is
measured: the results come from the latest checkpoint.

Exit codes: 0 done, 1 a wrong option in a file or an error, 2 wrong command line.`,
		Example: `  triton analyze report -n resnet50_config_3,resnet50_config_default
  triton analyze report -n resnet50_config_3 -e reports/ -o pdf,csv`,
	}
	f := bind(p, o, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.FillEnvironment(); err != nil {
			return err
		}
		changed := func(flag string) bool {
			return f.Changed(flag) || flag == "always-report-gpu-metrics" && f.Changed(misspelled)
		}
		if err := o.Load(changed); err != nil {
			return &process.ExitError{Code: process.Failure, Err: err}
		}
		return run(cmd.Context(), p, o)
	}
	return cmd
}

// misspelled is Model Analyzer's name of --always-report-gpu-metrics.
const misspelled = "always_report-gpu-metrics"

func bind(p process.Process, o *settings.Report, cmd *cobra.Command) *binding.Flags {
	removed := []settings.Option{}
	for _, option := range o.Options() {
		if option.Key == "always_report_gpu_metrics" {
			removed = append(removed, settings.Option{Flag: misspelled, Usage: option.Usage, Value: option.Value})
		}
	}
	f := binding.Bind(p, "analyze report", cmd, binding.Common{Mode: &o.Mode, Quiet: &o.Quiet, Verbose: &o.Verbose}, o.Options(), removed)
	f.Complete([]string{"checkpoint-directory", "export-path"}, []string{"config-file"}, map[string]complete.Func{
		"output-formats": complete.Values("pdf", "csv", "png", "svg", "json", "html"),
	})
	return f
}
