package report

import (
	"context"
	"fmt"

	"triton/analyzer/profile"
	"triton/analyzer/report"
	"triton/analyzer/settings"
	"triton/cmd/cli/process"
)

// run writes the detailed reports of variants in the newest checkpoint.
func run(_ context.Context, p process.Process, o *settings.Report) error {
	for _, text := range o.Notices {
		fmt.Fprintln(p.Stderr, "WARNING: "+text)
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
	configs := make([]settings.ReportConfig, len(o.Configs))
	for i, c := range o.Configs {
		if len(c.Plots) == 0 {
			c.Plots = o.Plots
		}
		configs[i] = c
	}
	return report.WriteDetails(recorded, configs, report.Options{
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
