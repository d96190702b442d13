// Package profile is `triton analyze profile`, which searches the best configurations of models, and `triton analyze
// report`, which writes detailed reports: the command line of NVIDIA's Model Analyzer, also for a program that is
// called model-analyzer.
package profile

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"triton/analyzer/settings"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// profileFunc profiles models. Tests have their own, which looks at the settings.
type profileFunc func(ctx context.Context, p process.Process, o *settings.Profile) error

// NewCommand returns `triton analyze profile`.
func NewCommand(p process.Process) *cobra.Command { return newCommand(p, run) }

// NewDeprecated returns `triton analyze analyze`, the former name of profile. Without a model
// repository it writes the reports of a checkpoint again.
func NewDeprecated(p process.Process) *cobra.Command { return newDeprecated(p, run) }

func newCommand(p process.Process, profileModels profileFunc) *cobra.Command {
	return build(p, profileModels, settings.NewProfile(), &cobra.Command{
		Use:   "profile -m DIR --profile-models MODELS [flags]",
		Short: "Find the fastest configurations of models",
		Long: `Measure models under many configurations and loads, and report the best ones.
Flags, files, results and messages are those of NVIDIA's Model Analyzer.

Exit codes: 0 done, 1 a wrong option in a file or an error, 2 wrong command line, or with --strict
no variant satisfies its constraints, 3 a device cannot be read, 4 no server could be started,
130 interrupted (what was measured is kept in the checkpoint).`,
		Example: `  triton analyze profile -m models/ --profile-models resnet50
  triton analyze profile -f profile.yaml --run-config-search-mode quick --latency-budget 50`,
	})
}

func newDeprecated(p process.Process, profileModels profileFunc) *cobra.Command {
	o := settings.NewProfile()
	o.Analyze = true
	cmd := build(p, profileModels, o, &cobra.Command{
		Use:    "analyze [flags]",
		Short:  "DEPRECATED: Aliased to profile - please use profile subcommand.",
		Hidden: true,
		Long: `DEPRECATED: Aliased to profile - please use profile subcommand.
Without a model repository, write the reports of the latest checkpoint again.`,
		Example: "  triton analyze analyze --profile-models resnet50 --checkpoint-directory checkpoints/",
	})
	return cmd
}

func build(p process.Process, profileModels profileFunc, o *settings.Profile, cmd *cobra.Command) *cobra.Command {
	result := &flags.Output{}
	f := bind(p, o, cmd, result)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.FillEnvironment(); err != nil {
			return err
		}
		if o.Analyze {
			fmt.Fprintln(p.Stderr, cmd.Short)
		}
		host := settings.Host{CPUs: runtime.NumCPU(), LookPath: exec.LookPath}
		if err := o.Finish(host, f.Changed); err != nil {
			return &process.ExitError{Code: process.Failure, Err: err}
		}
		targets, err := result.Targets(flags.Forms())
		if err == nil {
			err = targets.Check()
		}
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		for _, t := range targets {
			o.Output.Results = append(o.Output.Results, settings.ResultFile(t))
		}
		return profileModels(cmd.Context(), p, o)
	}
	return cmd
}
