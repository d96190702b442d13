package cli

import (
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel/autofill"
	"triton/repo"
	"triton/repo/lint"
	"triton/repo/report"
)

type lintFlags struct {
	format   string
	output   string
	severity string
	rules    bool
	options  lint.Options
}

func newRepoLintCommand(w World) *cobra.Command {
	var flags lintFlags
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check repositories, models and configurations",
		Long: `Check what a server would say about models, and what it would not say: syntax,
names, backend, tensors against the ONNX graph, batching, instance groups,
versions and files. A PATH is a repository, one model's directory or one
config.pbtxt.

The exit code is 0 when nothing is found, 1 when something is, and 2 when the
command line is wrong or a path cannot be read.`,
		Example: `  triton repo lint models/
  triton repo lint --format sarif --output lint.sarif models/
  triton repo lint --severity error models/resnet50`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settleCommand(w, cmd, ""); err != nil {
				return err
			}
			if flags.rules {
				return report.Rules(w.Stdout, lint.Rules())
			}
			return runRepoLint(w, flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", "text", "how to print: "+strings.Join(report.Formats(), ", "))
	f.StringVar(&flags.output, "output", "", "write to this file instead of standard output")
	f.StringVar(&flags.severity, "severity", "warning", "least severity that counts: note, warning, error")
	f.BoolVar(&flags.rules, "rules", false, "list the rules and exit")
	f.IntVar(&flags.options.CPUs, "cpus", runtime.NumCPU(), "processors of the machine that will serve; 0 skips the rules about them")
	f.IntVar(&flags.options.DefaultMaxBatch, "default-max-batch-size", autofill.DefaultMaxBatch, "the server's default for models that can batch")
	return cmd
}

func runRepoLint(w World, flags lintFlags, paths []string) error {
	least, err := repo.ParseSeverity(flags.severity)
	switch {
	case err != nil:
		return usageError("--severity: %w", err)
	case !slices.Contains(report.Formats(), flags.format):
		return usageError("--format: unknown format %q: use one of %s", flags.format, strings.Join(report.Formats(), ", "))
	case len(paths) == 0:
		return usageError("repo lint takes the path of a repository, a model or a %s", modelconfig.FileName)
	}
	r := report.Report{Rules: lint.Rules(), Version: w.Version}
	var all []repo.Model
	for _, path := range paths {
		models, err := repo.Open(path)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		all = append(all, models...)
	}
	r.Models = len(all)
	for _, f := range lint.Check(all, flags.options) {
		if f.Severity >= least {
			r.Findings = append(r.Findings, f)
		}
	}
	if err := writeFindings(w, flags, r); err != nil {
		return &exitError{exitUsage, err} // 1 would say that something was found
	}
	if len(r.Findings) > 0 {
		return &exitError{code: exitFailure}
	}
	return nil
}

func writeFindings(w World, flags lintFlags, r report.Report) error {
	if flags.output == "" {
		return report.Write(w.Stdout, flags.format, r)
	}
	return writeFile(flags.output, func(out io.Writer) error { return report.Write(out, flags.format, r) })
}
