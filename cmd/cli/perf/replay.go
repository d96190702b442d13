package perf

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf/recording"
)

const replayText = `Send the requests of a trace that 'triton perf record' wrote, at their own times
or faster, and report as 'triton perf' does. It is short for

  triton perf --fixed-schedule --input-data TRACE -m MODEL [options]

with the model of the trace. Options follow the trace, and are those of 'triton
perf': -u, -i, --speed, -f and so on. The trace is held in memory.`

// newReplayCommand returns `triton perf replay`.
func newReplayCommand(p process.Process) *cobra.Command {
	return &cobra.Command{
		Use:                "replay TRACE [options]",
		Short:              "Send recorded requests again, at their own times or faster",
		Long:               replayText,
		Example:            "  triton perf replay trace.jsonl -u localhost:8000 --speed 2",
		DisableFlagParsing: true, // options are those of triton perf
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				return usageError(p, fmt.Errorf("perf replay takes the name of a trace, and then options"))
			}
			model, err := traceModel(args[0])
			if err != nil {
				return usageError(p, err)
			}
			first := []string{"--fixed-schedule", "--input-data", args[0]}
			if model != "" && !namesModel(p, args[1:]) {
				first = append(first, "-m", model)
			}
			return run(cmd.Context(), p, append(first, args[1:]...))
		},
	}
}

// namesModel reports whether options name a model. Those behind a separator are of other models.
func namesModel(p process.Process, args []string) bool {
	typed, _, err := getopt(newOptions().flags(p), split(p, args)[0])
	return err == nil && slices.ContainsFunc(typed, func(a flags.Assignment) bool { return a.Flag.Name == "model" })
}

// traceModel returns the model of a trace, empty if it has several.
func traceModel(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	models, _, err := recording.Models(f)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	case len(models) == 0:
		return "", fmt.Errorf("%s has no requests", name)
	case len(models) > 1:
		return "", nil
	}
	return models[0], nil
}
