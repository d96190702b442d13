package profile

import (
	"errors"
	"fmt"
	"io"

	"triton/analyzer/profile"
	"triton/analyzer/report"
	"triton/analyzer/settings"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// formats of the reports of a profile, in addition to HTML.
var formats = []string{"pdf", "png", "json"}

// writeReports writes tables, summaries and detailed reports.
func writeReports(p process.Process, o *settings.Profile, r *profile.Report, progress *progress) error {
	options := report.ProfileOptions{
		Options: report.Options{
			Mode: o.Mode, Path: o.Output.ExportPath, Formats: formats, AlwaysGPU: o.AlwaysReportGPUMetrics,
			Log: func(line string, warning bool) {
				if warning {
					progress.warn(line)
				} else {
					progress.print(line)
				}
			},
		},
		Output: o.Output, Across: o.Global.Goal, ObjectivesSet: o.IsSet("objectives"),
		ReportCommand: fmt.Sprintf("triton analyze report --checkpoint-directory %s --export-path %s", o.CheckpointDirectory, o.Output.ExportPath),
	}
	var targets flags.OutputTargets
	for _, f := range o.Output.Results {
		targets = append(targets, flags.OutputTarget(f))
	}
	if o.Verbose {
		options.Console = p.Stdout
		if targets.Stdout() {
			options.Console = p.Stderr // the result is alone on standard output
		}
	}
	return errors.Join(report.WriteProfile(r, options), targets.Write(p, func(w io.Writer, form string) error {
		return report.Write(w, r, options, form)
	}))
}
