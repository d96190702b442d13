// Package analyze is `triton analyze`: it starts servers, measures them and prints which setting of a model to
// serve. Its subcommand memory measures memory only, fit predicts what other devices hold, and devices prints
// those of this machine.
package analyze

import (
	"github.com/spf13/cobra"

	"triton/cmd/cli/analyze/profile"
	"triton/cmd/cli/analyze/simulate"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// Exit codes of analyze in addition to those of package process.
const (
	noServer    = 4
	interrupted = 130
)

// NewCommand returns `triton analyze`.
func NewCommand(p process.Process) *cobra.Command {
	a := &arguments{}
	cmd := &cobra.Command{
		Use:   "analyze -m MODEL --model-repository DIR [flags]",
		Short: "Find out how many instances of a model to serve, and what they cost",
		Long: `Start servers with rising instance counts over a copy of the model's
configuration, make every instance run, read the memory that is the model's
own, and recommend a configuration: how many instances fit, how many are of
use, and the smaller of both. The answer is run before it is given, where that
endangers nothing. The model repository is only read.

Numbers are given as lists and ranges: 1,4,8 or 1:4 or 2:8:2.

Exit codes: 0 a configuration is recommended, 1 nothing meets the limits, there is
no verdict or an error occurred, 2 wrong command line, 4 no server could be
started, 130 interrupted (what was measured until then is still reported).`,
		Example: `  triton analyze -m resnet50 --model-repository models/
  triton analyze -m simple --model-repository models/ --quick
  triton analyze -m text_classifier --model-repository models/ --shape input_ids:128 \
    --shape attention_mask:128 --instance-counts 1:4 --concurrency 1,8,32 --latency-budget 50`,
		Args: flags.NoArguments,
	}
	f := flags.New(p, "analyze", cmd.Flags())
	a.bind(f)
	a.complete(f, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.FillCommand(a.config); err != nil {
			return err
		}
		if a.model == "" || len(a.repositories) == 0 {
			return process.UsageError("analyze takes -m MODEL and --model-repository DIR")
		}
		a.shorten(cmd.Flags().Changed)
		o, err := a.options()
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		return run(cmd.Context(), p, o)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &process.ExitError{Code: process.Usage, Err: flags.Suggest(f, err)}
	})
	cmd.AddCommand(profile.NewCommand(p), profile.NewDeprecated(p), profile.NewReport(p))
	cmd.AddCommand(newMemory(p), newFit(p), newDevices(p))
	cmd.AddCommand(simulate.NewCommand(p), simulate.NewCapacityCommand(p))
	return cmd
}
