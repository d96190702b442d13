package perf

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/llm"
)

// llmOptions holds what the flags of `triton perf llm` set.
type llmOptions struct {
	goodput []string
	files   bool
}

// newLLMCommand returns `triton perf llm`.
func newLLMCommand(p process.Process) *cobra.Command {
	var o llmOptions
	cmd := &cobra.Command{
		Use:   "llm FILE...",
		Short: "Show the metrics of a language model from profile export files",
		Long: `Compute time to first token, inter-token latency, tokens per second and goodput
from files that perf_analyzer or 'triton perf' wrote with --profile-export-file.`,
		Example: `  triton perf llm profile.json
  triton perf llm profile.json --goodput time_to_first_token:300 --files`,
	}
	f := flags.New(p, "perf llm", cmd.Flags())
	f.StringSliceVar(&o.goodput, "goodput", nil, "also show the requests per second that keep limits, such as time_to_first_token:300,inter_token_latency:20")
	f.BoolVar(&o.files, "files", false, "also write genai-perf's CSV and JSON files, beside FILE")
	f.FillBefore(cmd, nil)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return o.run(p, args) }
	return cmd
}

func (o llmOptions) run(p process.Process, names []string) error {
	if len(names) == 0 {
		return process.UsageError("perf llm takes the names of profile export files")
	}
	var goals []llm.Objective
	for _, text := range o.goodput {
		list, err := llm.ParseObjectives(text)
		if err != nil {
			return process.UsageError("--goodput: %s", err)
		}
		goals = append(goals, list...)
	}
	for _, name := range names {
		if err := o.show(p, name, goals); err != nil {
			return &process.ExitError{Code: process.Usage, Err: fmt.Errorf("%s: %w", name, err)}
		}
	}
	return nil
}

// show prints and writes the metrics of the levels of a file.
func (o llmOptions) show(p process.Process, name string, goals []llm.Objective) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	export, err := llm.ReadExport(file)
	if err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, x := range export.Experiments {
		l := measured{load: loadOf(x), Metrics: llm.Compute(x.Requests, goals)}
		if err := printLLM(p.Stdout, l); err != nil {
			return err
		}
		if !o.files {
			continue
		}
		run := llm.GenAIPerfRun{
			ServiceKind: export.ServiceKind, Endpoint: export.Endpoint,
			Value: x.Value, ExportFile: filepath.Base(name), Goals: goals,
		}
		if err := writeLLMFiles(p, name, l, run, len(export.Experiments) > 1); err != nil {
			return err
		}
	}
	return nil
}

// loadOf returns the load of a level in a file. Schedules and sessions have the rate 0 there.
func loadOf(x llm.Experiment) perf.Load {
	switch {
	case x.Mode == "concurrency":
		return perf.Load{Mode: perf.Concurrency, Value: x.Value}
	case x.Value == 0:
		return perf.Load{Mode: perf.FixedSchedule}
	}
	return perf.Load{Mode: perf.RequestRate, Value: x.Value}
}
