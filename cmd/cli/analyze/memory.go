package analyze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"triton/analyzer/memory"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

var memoryForms = []flags.Form{flags.TextForm, flags.JSONForm}

// memoryFlags are the flags of analyze that memory has too.
var memoryFlags = []string{
	"model-repository", "instance-counts", "memory", "memory-headroom", "device", "stress-time", "budget", "protocol",
	"shape", "input-data", "string-length", "model-config-name", "backend-config", "disable-auto-complete-config", "server-flag",
	"load-timeout", "config",
}

// newMemory returns `triton analyze memory`.
func newMemory(p process.Process) *cobra.Command {
	a := &arguments{}
	var models []string
	cmd := &cobra.Command{
		Use:   "memory -m MODEL[,MODEL...] --model-repository DIR [flags]",
		Short: "Measure the memory of models",
		Long: `Measure what a server takes with rising instance counts of a model: loaded, after
the first executions, at its peak, after the load, for each instance and for
each item of a batch. Throughput is not measured and nothing is recommended;
triton analyze does both. triton analyze fit reads the JSON form.

Exit codes: 0 measured, 1 an error occurred, 2 wrong command line, 4 no server
could be started, 130 interrupted (what was measured is still reported).`,
		Example: `  triton analyze memory -m simple,resnet50 --model-repository models
  triton analyze memory -m resnet50 --model-repository models -o resnet50.json`,
		Args: flags.NoArguments,
	}
	all := flags.New(p, "analyze", (&cobra.Command{}).Flags())
	a.bind(all)
	f := flags.New(p, "analyze memory", cmd.Flags())
	f.StringSliceVarP(&models, "model", "m", nil, "models to measure; required")
	for _, name := range memoryFlags {
		f.AddFlag(all.Lookup(name))
	}
	a.result = flags.Output{}
	a.result.Bind(f, memoryForms)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.FillCommand(a.config); err != nil {
			return err
		}
		if len(models) == 0 || len(a.repositories) == 0 {
			return process.UsageError("analyze memory takes -m MODEL and --model-repository DIR")
		}
		a.directory, a.gain, a.noVerify = "", 0, true
		return measureModels(cmd.Context(), p, a, models)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &process.ExitError{Code: process.Usage, Err: flags.Suggest(f, err)}
	})
	return cmd
}

// measureModels measures models one after the other.
func measureModels(ctx context.Context, p process.Process, a *arguments, models []string) error {
	ctx, stop := p.Interruptible(ctx)
	defer stop()
	targets, err := a.result.Targets(memoryForms)
	if err == nil {
		err = targets.Check()
	}
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	all := make([]*options, len(models))
	for i, model := range models {
		a.model = strings.TrimSpace(model)
		if all[i], err = a.options(); err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		if err := all[i].Check(); err != nil {
			return err // now, and not after the models before it
		}
		all[i].MemoryOnly = true
	}
	var results []*memory.Result
	for _, o := range all {
		if len(all) > 1 {
			fmt.Fprintf(p.Stderr, "model %s\n", o.Model)
		}
		r, err := analyze(ctx, p, o)
		if err != nil {
			return errors.Join(writeMemory(p, targets, results), failure(r, err))
		}
		results = append(results, r)
		if r.Interrupted {
			break
		}
	}
	if err := writeMemory(p, targets, results); err != nil {
		return err
	}
	if results[len(results)-1].Interrupted {
		return &process.ExitError{Code: interrupted}
	}
	return nil
}

func writeMemory(p process.Process, targets flags.OutputTargets, results []*memory.Result) error {
	if len(results) == 0 {
		return nil
	}
	var err error
	if !targets.Stdout() {
		err = memory.WriteMemory(p.Stdout, results)
	}
	return errors.Join(err, targets.Write(p, func(w io.Writer, form string) error {
		if form == flags.JSONForm.Name {
			return memory.WriteJSONs(w, results)
		}
		return memory.WriteMemory(w, results)
	}))
}
