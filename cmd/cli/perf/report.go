package perf

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf/result"
)

// reportOptions holds what the flags of `triton perf report` set.
type reportOptions struct {
	output string // html or text
	file   string
	text   bool
	title  string
}

const defaultReport = "report.html"

func (o *reportOptions) bind(f *flags.Set) {
	f.StringVar(&o.output, "output", "html", "html or text")
	f.StringVarP(&o.file, "output-file", "o", "", "file to write, - for standard output (default "+defaultReport+", with text standard output)")
	f.BoolVar(&o.text, "text", false, "short for --output text")
	f.StringVar(&o.title, "title", "", "heading of the page (default the names of the models)")
}

// newReportCommand returns `triton perf report`.
func newReportCommand(p process.Process) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Show results as an HTML page or as text",
		Long: `Write an HTML page with the charts and tables of one or more results: throughput
against latency, percentiles, latency over time, the distribution of latencies,
the server's part of the time and the batch sizes that it executed. Several
results are drawn into the same charts. The page is one file that needs no network.

A FILE is a result of 'triton perf -o FILE.json', or a file that perf_analyzer
wrote with --profile-export-file.`,
		Example: `  triton perf -m resnet50 --concurrency-range 1:8 -o before.json
  triton perf report before.json after.json -o report.html
  triton perf report --text before.json`,
	}
	f := flags.New(p, "perf report", cmd.Flags())
	o.bind(f)
	f.FillBefore(cmd, nil)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return runReport(p, o, args) }
	return cmd
}

func runReport(p process.Process, o reportOptions, names []string) error {
	if o.text {
		o.output = "text"
	}
	switch {
	case len(names) == 0:
		return process.UsageError("perf report takes the names of result files")
	case o.output != "html" && o.output != "text":
		return process.UsageError("--output: unknown form %q: use html or text", o.output)
	}
	runs, err := result.ReadRuns(names)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	write := func(w io.Writer) error {
		return result.WritePage(w, runs, result.PageOptions{Title: o.title, Version: p.Version})
	}
	if o.output == "text" {
		write = func(w io.Writer) error { return result.WriteChart(w, runs) }
	} else if o.file == "" {
		o.file = defaultReport
	}
	if err := writeTo(p, o.file, write); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	if o.file != "" && o.file != "-" {
		fmt.Fprintln(p.Stderr, "wrote", o.file)
	}
	return nil
}

// writeTo writes a file, or standard output for an empty name or "-", the result of `triton perf report`.
func writeTo(p process.Process, name string, write func(io.Writer) error) error {
	if name == "" || name == "-" {
		return write(p.Stdout)
	}
	return process.WriteFile(name, write)
}
