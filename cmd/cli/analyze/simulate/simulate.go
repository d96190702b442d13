// Package simulate is `triton analyze simulate` and `triton analyze capacity`: what settings of a
// model would do to a load, from a cost curve, with the server's own queue in virtual time.
package simulate

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

var forms = []flags.Form{flags.TextForm, flags.JSONForm, flags.CSVForm, flags.MarkdownForm, flags.HTMLForm}

// most is how many settings a command runs.
const most = 10_000

// NewCommand returns `triton analyze simulate`.
func NewCommand(p process.Process) *cobra.Command {
	a := &arguments{}
	cmd := &cobra.Command{
		Use:   "simulate --curve FILE {--rate R | --concurrency N | --trace FILE} [flags]",
		Short: "Predict what other batch sizes, delays and instance counts do to a load",
		Long: `Run a load through the server's own queue in virtual time, once for each
combination of settings, and print latency, throughput, batches and refusals. No
server and no GPU is needed: how long a batch takes comes from a cost curve.

The cost curve is the result of 'triton perf' (-o FILE.json, several batch sizes
with -b), the statistics of a running server (/v2/models/MODEL/stats), or a file
with batch and time_us as CSV or JSON. Lists are given as 1,4,8 or 1:4 or 2:8:2.`,
		Example: `  triton perf -m resnet50 -b 1,2,4,8,16,32 -o curve.json
  triton analyze simulate --curve curve.json --rate 500,1000 --queue-delay 0,1ms,5ms --instances 1:4
  triton analyze simulate --curve curve.json --trace recorded.jsonl --speed 2 --output csv -o out.csv`,
		Args: flags.NoArguments,
	}
	a.finish(p, cmd, a.bindSimulate, func(w *work) error {
		loads, err := a.loads(w)
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		r, err := sweep(w, loads)
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		return w.targets.Write(p, func(out io.Writer, form string) error { return r.write(out, form) })
	})
	return cmd
}

// finish adds the flags of both commands and those of one of them, and what a valid command line runs.
func (a *arguments) finish(p process.Process, cmd *cobra.Command, own func(*flags.Set), run func(*work) error) {
	f := flags.New(p, "analyze "+cmd.Name(), cmd.Flags())
	a.bind(f)
	own(f)
	a.complete(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return process.UsageError("%w", flags.Suggest(f, err)) })
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := f.FillCommand(""); err != nil {
			return err
		}
		w, err := a.work()
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		return run(w)
	}
}

// sweep runs every setting under every load.
func sweep(w *work, loads []load) (*sweepResult, error) {
	if n := w.space.Size() * len(loads); n > most {
		return nil, fmt.Errorf("%d combinations are more than the %d that are run: shorten the lists", n, most)
	}
	settings := w.space.Settings()
	r := &sweepResult{model: w.model}
	for _, l := range loads {
		for _, s := range settings {
			r.rows = append(r.rows, row{l, l.run(w.planner, s)})
			r.doubt(w.planner.Doubts(s))
		}
	}
	return r, nil
}

// NewCapacityCommand returns `triton analyze capacity`.
func NewCapacityCommand(p process.Process) *cobra.Command {
	a := &arguments{}
	cmd := &cobra.Command{
		Use:   "capacity --curve FILE --rate R --p99 TIME [flags]",
		Short: "Find how many instances on how many devices hold a latency at a load",
		Long: `Find the fewest instances, and the fewest devices for them, with which a load is
answered within a latency, as 'triton analyze simulate' computes it. The answer
shows both sides of the limit: the number that holds the target, and one less.

With several batch sizes or delays each is answered, the one that needs least first.
Without --instances-per-device all instances are on one device.

The exit code is 0 when the target can be held, and 1 when no setting holds it.`,
		Example: `  triton analyze capacity --curve curve.json --rate 2000 --p99 50ms --instances-per-device 4
  triton analyze capacity --curve curve.json --rate 2000 --p99 50ms --max-batch-size 8,16,32 --queue-delay 0,2ms`,
		Args: flags.NoArguments,
	}
	a.finish(p, cmd, a.bindCapacity, func(w *work) error {
		r, err := a.answer(w)
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		if err := w.targets.Write(p, func(out io.Writer, form string) error { return r.write(out, form) }); err != nil {
			return err
		}
		if r.answers[0].Holds == nil {
			return &process.ExitError{Code: process.Failure, Err: errors.New("no setting holds the target: " + r.answers[0].Reason)}
		}
		return nil
	})
	return cmd
}

// answer finds the capacity of each setting.
func (a *arguments) answer(w *work) (*capacityResult, error) {
	target, err := a.target()
	if err != nil {
		return nil, err
	}
	loads, err := a.loads(w)
	switch {
	case err != nil:
		return nil, err
	case len(loads) != 1:
		return nil, errors.New("capacity takes one load: one --rate, or --trace")
	case len(loads[0].arrivals) == 0:
		return nil, errors.New("the load has no requests")
	}
	w.space.Instances, w.space.Devices = []int{1}, []int{1}
	if n := w.space.Size(); n > most/20 {
		return nil, fmt.Errorf("%d combinations are more than the %d that are run: shorten the lists", n, most/20)
	}
	settings := w.space.Settings()
	r := &capacityResult{model: w.model, load: loads[0], target: target}
	for _, s := range settings {
		answer := w.planner.Fewest(s, loads[0].arrivals, target)
		r.add(answer)
		if answer.Holds != nil {
			r.doubt(w.planner.Doubts(answer.Holds.Setting))
		}
	}
	return r, nil
}

// complete tells shells what the arguments of the flags are.
func (a *arguments) complete(cmd *cobra.Command) {
	functions := map[string]flags.Completion{"arrivals": flags.CompleteValues("poisson", "constant"), "output": flags.CompleteValues(strings.Fields(flags.FormNames(forms, " "))...)}
	for _, name := range []string{
		"model", "rate", "rows", "requests", "seed", "speed", "max-batch-size", "queue-delay", "preferred-batch-size", "queue-size",
		"queue-timeout", "overhead", "instances", "devices", "concurrency", "p99", "refused", "instances-per-device", "max-instances",
	} {
		if cmd.Flags().Lookup(name) != nil {
			functions[name] = flags.CompleteNothing
		}
	}
	flags.Complete(cmd, functions)
}
