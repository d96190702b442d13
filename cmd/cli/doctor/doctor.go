// Package doctor is the command doctor: it looks at the machine as a server would, and says what
// is missing, what will disturb, and what to do about it. It changes nothing.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// options holds what the flags set.
type options struct {
	output       flags.Output
	repositories []string
	backends     string
	python       string
	cache        string
	address      string
	ports        map[string]*int
	gpu          bool
	timeout      time.Duration
	config       string
}

// forms are the forms of the result.
func forms() []flags.Form { return []flags.Form{flags.TextForm, flags.JSONForm} }

func (o *options) bind(f *flags.Set) {
	f.StringArrayVar(&o.repositories, "model-repository", nil, "folder of models that the server shall read; may be repeated")
	f.StringVar(&o.backends, "backend-directory", "/opt/tritonserver/backends", "folder of backends")
	f.StringVar(&o.python, "python-executable", "", "interpreter of Python models (default python3 on the PATH)")
	f.StringVar(&o.cache, "store-cache-directory", "", "folder of downloaded models (default none is looked at)")
	f.StringVar(&o.address, "http-address", "0.0.0.0", "address of the ports")
	o.ports = map[string]*int{}
	for name, port := range map[string]int{"http-port": 8000, "grpc-port": 8001, "metrics-port": 8002} {
		o.ports[name] = new(int)
		f.IntVar(o.ports[name], name, port, "port that the server shall open; 0 for none")
	}
	f.BoolVar(&o.gpu, "gpu", false, "also let each GPU work: its memory is written and read, and a small ONNX model is loaded and asked")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "longest time of all checks")
	o.output.Bind(f, forms())
	f.StringVar(&o.config, "config", "", "YAML or JSON file with the values of flags")
}

// NewCommand returns the command doctor.
func NewCommand(p process.Process) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine as a server would, and say what to do",
		Long: `Check what a server on this machine depends on: the program, engines, GPUs, ports,
processors, memory, limits of the process, folders, the clock, and environment
variables that change what a server does. Each line says what was found; lines
that are not ok say what to do. Nothing is changed. Only --gpu loads a model, one of
its own, on each GPU.

The exit code is 0 without failures, 1 with some, and 2 when the command line is
wrong. Warnings do not change it.`,
		Example: `  triton doctor
  triton doctor --model-repository models --output json
  triton doctor --gpu
  kubectl exec POD -- triton doctor --model-repository /models`,
		Args: cobra.ArbitraryArgs,
	}
	f := flags.New(p, "doctor", cmd.Flags())
	o.bind(f)
	flags.CompleteFolders(cmd, "model-repository", "backend-directory", "store-cache-directory")
	flags.Complete(cmd, map[string]flags.Completion{"output": flags.CompleteValues("text", "json")})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return process.UsageError("doctor takes no arguments, %q was given", args[0])
		}
		targets, err := o.output.Targets(forms())
		if err != nil {
			return process.UsageError("%v", err)
		}
		if err := targets.Check(); err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		if !targets.Stdout() {
			targets = append(targets, flags.OutputTarget{Form: flags.TextForm.Name, File: "-"})
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
		defer cancel()
		found := runChecks(ctx, p, o)
		if err := targets.Write(p, func(w io.Writer, form string) error { return write(w, form, found) }); err != nil {
			return err
		}
		for _, x := range found {
			if x.State == Failure {
				return &process.ExitError{Code: process.Failure}
			}
		}
		return nil
	}
	return cmd
}

// runChecks runs all checks.
func runChecks(ctx context.Context, p process.Process, o options) []Finding {
	var all []Finding
	for _, check := range []func(context.Context, process.Process, options) []Finding{
		program, onnxRuntime, pythonModels, gpus, gpuWork, ports, processors, memory, limits, folders, clock, environment,
	} {
		all = append(all, check(ctx, p, o)...)
	}
	return all
}

func write(w io.Writer, form string, found []Finding) error {
	if form == flags.JSONForm.Name {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"findings": found})
	}
	columns := []ui.Column{{Title: ""}, {Title: "Check"}, {Title: "Found"}}
	rows := make([][]string, len(found))
	var advice []string
	counts := map[State]int{}
	for i, x := range found {
		rows[i] = []string{string(x.State), x.Check, x.Found}
		counts[x.State]++
		if x.Advice != "" {
			advice = append(advice, fmt.Sprintf("%s, %s: %s", x.State, x.Check, x.Advice))
		}
	}
	if err := ui.Table(w, columns, rows); err != nil {
		return err
	}
	if len(advice) > 0 {
		advice = append([]string{"", "What to do:"}, advice...)
	}
	if err := ui.WriteLines(w, advice); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s, %s\n", ui.Plural(counts[Failure], "failure"), ui.Plural(counts[Warning], "warning"))
	return err
}
