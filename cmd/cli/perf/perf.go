// Package perf is `triton perf`: perf_analyzer's command line around the load generator.
package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/load"
	"triton/perf/report"
)

// NewCommand returns `triton perf`.
func NewCommand(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:                "perf -m MODEL [options]",
		Short:              "Measure throughput and latency of a model on a running server",
		Long:               helpText,
		Example:            helpExample,
		DisableFlagParsing: true, // perf_analyzer's syntax is getopt's
		ValidArgsFunction:  completion(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), p, args)
		},
	}
	cmd.SetHelpFunc(func(called *cobra.Command, args []string) {
		if called != cmd { // a subcommand inherits this function
			called.Root().HelpFunc()(called, args)
			return
		}
		_ = writeHelp(cmd.OutOrStdout(), p)
	})
	addCommands(cmd, p, newLLMCommand(p), newReportCommand(p), newCompareCommand(p), newRecordCommand(p), newReplayCommand(p), newRunCommand(p))
	return cmd
}

func run(ctx context.Context, p process.Process, args []string) error {
	all, err := parseAll(p, args)
	if err != nil {
		return usageError(p, err)
	}
	switch o := all[0]; {
	case o.help:
		return writeHelp(p.Stdout, p)
	case o.version:
		fmt.Fprintf(p.Stderr, "Perf Analyzer Version %s (commit %s)\n", p.Version, cmp.Or(p.Commit, "unknown"))
		return nil
	}
	if !anyInProcess(all) { // a server in this process has a heap of its own size
		defer load.RelaxCollector()()
	}
	if len(all) > 1 {
		return measureTogether(ctx, p, all)
	}
	return runModel(ctx, p, all[0])
}

// runModel measures a model and writes its reports.
func runModel(ctx context.Context, p process.Process, o *options) error {
	writeWarnings(p.Stderr, o.warnings)
	rep, err := measure(ctx, p, o)
	if errors.Is(err, errQuit) {
		return nil
	}
	if rep == nil {
		return exitResult(p, o, rep, err)
	}
	written := errors.Join(writeCSVs(p, o, rep), writeExport(p, o, rep), writeLLM(p, o), writeResult(p, o, rep))
	switch {
	case err == nil:
		err = written
	case written != nil: // the text of err does not have it
		fmt.Fprintf(p.Stderr, "%s\n\n", written)
	}
	return exitResult(p, o, rep, err)
}

// writeCSVs writes the report and, for an ensemble, a report for each composing model.
func writeCSVs(p process.Process, o *options, rep *perf.Report) error {
	if o.csv == "" || len(rep.Measured()) == 0 {
		return nil
	}
	csv := report.CSVOptions{Verbose: o.csvVerbose, Notes: p.Stderr}
	err := writeReport(p, o.csv, func(f io.Writer) error { return report.WriteCSV(f, rep, csv) })
	if err != nil {
		return err
	}
	if o.csv == "-" {
		return nil
	}
	dir, base := filepath.Split(o.csv)
	for _, part := range report.ComposingModels(rep) {
		name := dir + filepath.Base(part.Model) + "_v" + filepath.Base(part.Version) + "." + base
		if err := writeReport(p, name, func(f io.Writer) error { return report.WriteComposingCSV(f, rep, part, csv) }); err != nil {
			return err
		}
	}
	return nil
}

// writeExport writes every request of the run.
func writeExport(p process.Process, o *options, rep *perf.Report) error {
	if o.export == "" {
		return nil
	}
	return writeReport(p, o.export, func(f io.Writer) error {
		return report.WriteExport(f, rep, report.ExportOptions{Version: p.Version, ServiceKind: o.config.ServiceKind, Endpoint: o.endpoint, Notes: p.Stderr})
	})
}

// writeReport writes a file, or to the standard output if the name is "-". Its errors of files name the
// report, unlike those of writeTo.
func writeReport(p process.Process, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(p.Stdout)
	}
	if err := process.WriteFile(name, write); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
