package profile

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"triton/analyzer/profile"
	"triton/analyzer/report"
	"triton/analyzer/settings"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// reportFunc writes reports. Tests have their own, which looks at the settings.
type reportFunc func(ctx context.Context, p process.Process, o *settings.Report) error

// NewReport returns `triton analyze report`.
func NewReport(p process.Process) *cobra.Command { return newReport(p, runReport) }

func newReport(p process.Process, writeReport reportFunc) *cobra.Command {
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
	f := bindReport(p, o, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.FillEnvironment(); err != nil {
			return err
		}
		changed := func(flag string) bool {
			return f.Changed(flag) || flag == "always-report-gpu-metrics" && f.Changed(misspelled)
		}
		if err := o.Finish(changed); err != nil {
			return &process.ExitError{Code: process.Failure, Err: err}
		}
		return writeReport(cmd.Context(), p, o)
	}
	return cmd
}

// misspelled is Model Analyzer's name of --always-report-gpu-metrics.
const misspelled = "always_report-gpu-metrics"

func bindReport(p process.Process, o *settings.Report, cmd *cobra.Command) *optionFlags {
	removed := []settings.Option{}
	for _, option := range o.Options() {
		if option.Key == "always_report_gpu_metrics" {
			removed = append(removed, settings.Option{Flag: misspelled, Usage: option.Usage, Value: option.Value})
		}
	}
	f := bindOptions(p, "analyze report", cmd, commonFlags{Mode: &o.Mode, Quiet: &o.Quiet, Verbose: &o.Verbose}, o.Options(), removed)
	f.Complete([]string{"checkpoint-directory", "export-path"}, []string{"config-file"}, map[string]flags.Completion{
		"output-formats": flags.CompleteValues("pdf", "csv", "png", "svg", "json", "html"),
	})
	return f
}

// runReport writes the detailed reports of variants in the newest checkpoint.
func runReport(_ context.Context, p process.Process, o *settings.Report) error {
	for _, text := range o.Notices {
		_ = ui.WriteLine(p.Stderr, "WARNING: "+text)
	}
	state, _, _, err := profile.CheckpointDirectory(o.CheckpointDirectory).Latest()
	if err != nil {
		return err
	}
	if state == nil {
		return fmt.Errorf("no checkpoint file found in %s: run `triton analyze profile` first, or name the folder with --checkpoint-directory", o.CheckpointDirectory)
	}
	recorded := profile.Recorded(settings.NewProfile(), state)
	recorded.Tool = "triton analyze report " + p.Version
	return report.WriteDetails(recorded, o.Configs, report.Options{
		Mode: o.Mode, Path: o.ExportPath, Formats: o.OutputFormats, AlwaysGPU: o.AlwaysReportGPUMetrics,
		Log: func(line string, warning bool) {
			switch {
			case warning:
				fmt.Fprintln(p.Stderr, "WARNING: "+line)
			case !o.Quiet:
				fmt.Fprintln(p.Stderr, line)
			}
		},
	})
}
