package repo

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/complete"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/output"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/repo"
	"triton/repo/lint"
	"triton/repo/report"
)

func newLintCommand(p process.Process) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check repositories, models and configurations",
		Long: `Report what a server would reject, and mistakes that it would accept: syntax,
names, backend, tensors against the ONNX graph, batching, instance groups,
versions and files. A PATH is a repository, one model's directory or one
config.pbtxt.

The exit code is 0 when nothing is found, 1 when something is, and 2 when the
command line is wrong or a path cannot be read.`,
		Example: `  triton repo lint models/
  triton repo lint -o lint.sarif models/
  triton repo lint --severity error models/resnet50`,
	}
	f := flags.New(p, "repo lint", cmd.Flags())
	o.bind(f)
	complete.Flags(cmd, map[string]complete.Func{
		"output":   complete.Values(strings.Fields(output.Names(forms(), " "))...),
		"format":   complete.Values(strings.Fields(output.Names(forms(), " "))...),
		"severity": complete.Values("note", "warning", "error"),
		"cpus":     complete.Nothing, "gpus": complete.Nothing, "backends": complete.Nothing, "default-max-batch-size": complete.Nothing,
	})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := f.FillCommand(o.config); err != nil {
			return err
		}
		if o.rules {
			return report.Rules(p.Stdout, lint.Rules())
		}
		return runLint(p, o, args)
	}
	return cmd
}

func runLint(p process.Process, o lintOptions, paths []string) error {
	minSeverity, err := repo.ParseSeverity(o.severity)
	if err != nil {
		return process.UsageError("--severity: %w", err)
	}
	targets, err := o.targets()
	if err == nil {
		err = targets.Check()
	}
	switch {
	case err != nil:
		return &process.ExitError{Code: process.Usage, Err: err}
	case len(paths) == 0:
		return process.UsageError("repo lint takes the path of a repository, a model or a %s", modelconfig.FileName)
	}
	r := report.Report{Rules: lint.Rules(), Version: p.Version}
	var all []repo.Model
	for _, path := range paths {
		models, err := repo.Open(path)
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		all = append(all, models...)
	}
	r.Models = len(all)
	for _, f := range lint.Check(all, o.linter()) {
		if f.Severity >= minSeverity {
			r.Findings = append(r.Findings, f)
		}
	}
	if len(targets) == 0 {
		targets = output.Targets{{Form: output.Text.Name, File: "-"}}
	}
	if err := targets.Write(p, func(w io.Writer, form string) error { return report.Write(w, form, r) }); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err} // Failure means findings
	}
	if len(r.Findings) > 0 {
		return &process.ExitError{Code: process.Failure}
	}
	return nil
}
