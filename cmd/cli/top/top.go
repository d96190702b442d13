// Package top is the command top: a table of what the models of a running server do now. It works
// with this server and with NVIDIA's.
package top

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// redraw is how often the view is drawn without a new reading: it shows how long a server is silent.
const redraw = 500 * time.Millisecond

var forms = []flags.Form{flags.TextForm, flags.JSONForm}

// options holds what the flags set.
type options struct {
	server   serverFlags
	output   flags.Output
	interval time.Duration
	timeout  time.Duration
	once     bool
	sort     string
	reverse  bool
	filter   string
	config   string
}

func (o *options) bind(f *flags.Set) {
	o.server.bind(f)
	f.DurationVar(&o.interval, "interval", 2*time.Second, "time between two readings; rates and means are of that time")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "longest time of a reading")
	f.BoolVar(&o.once, "once", false, "print one table after two readings; the default without a terminal and with --output")
	f.StringVar(&o.sort, "sort", "requests", "column to sort by: "+strings.Join(columnNames(), ", "))
	f.BoolVar(&o.reverse, "reverse", false, "sort the other way round")
	f.StringVar(&o.filter, "filter", "", "only models whose name contains this text")
	o.output.Bind(f, forms)
	f.StringVar(&o.config, "config", "", "YAML or JSON file with the values of flags")
}

// NewCommand returns the command top.
func NewCommand(p process.Process) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what the models of a running server do now",
		Long: `Show a table of the models of a running server: requests and failures per second,
mean latency and its parts, requests that wait and that are in flight, batch size,
hits of the response cache, and memory; above it the load of the machine. It asks
the server's HTTP port for states and statistics and its metrics port for the rest;
one of the two is enough. A server that goes away is asked until it is back.

Keys: q quits, < and > choose the column to sort by, r reverses, / filters by
name, arrows and page keys scroll.

The exit code of --once is 1 when the server does not answer.`,
		Example: `  triton top
  triton top -u gpu-17:8000 --sort queue
  triton top --once --output json | jq '.models[] | select(.failures_per_second > 0)'`,
		Args: cobra.ArbitraryArgs,
	}
	f := flags.New(p, "top", cmd.Flags())
	o.bind(f)
	flags.Complete(cmd, map[string]flags.Completion{
		"output": flags.CompleteValues(flags.TextForm.Name, flags.JSONForm.Name),
		"sort":   flags.CompleteValues(columnNames()...),
	})
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return process.UsageError("%w", flags.Suggest(f, err)) })
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return process.UsageError("top takes no arguments, %q was given: name the server with -u", args[0])
		}
		return o.run(cmd.Context(), p)
	}
	return cmd
}

func (o *options) run(ctx context.Context, p process.Process) error {
	switch {
	case o.interval < 100*time.Millisecond:
		return process.UsageError("--interval: %v is less than 100ms", o.interval)
	case o.timeout <= 0:
		return process.UsageError("--timeout: %v is not a time", o.timeout)
	case !slices.Contains(columnNames(), o.sort):
		return process.UsageError("--sort: unknown column %q: use one of %s", o.sort, strings.Join(columnNames(), ", "))
	}
	targets, err := o.output.Targets(forms)
	if err != nil {
		return process.UsageError("%w", err)
	}
	if err := targets.Check(); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	server, err := o.server.connect()
	if err != nil {
		return err
	}
	defer server.close()
	ctx, stop := p.Interruptible(ctx)
	defer stop()
	ask := func(ctx context.Context) (*sample, error) { return read(ctx, server, o.timeout) }
	if o.once || len(targets) > 0 || !p.StdoutTerminal {
		return o.print(ctx, p, targets, ask)
	}
	v := &view{address: o.server.Address, interval: o.interval, sort: o.sort, reverse: o.reverse, filter: o.filter}
	_, plain := p.LookupEnv("NO_COLOR")
	v.colors.Color = !plain
	return v.run(ctx, p.Stdin, p.Stdout, ask)
}

// print writes one table.
func (o *options) print(ctx context.Context, p process.Process, targets flags.OutputTargets, ask func(context.Context) (*sample, error)) error {
	first, err := ask(ctx)
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	select {
	case <-time.After(o.interval):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	second, err := ask(ctx)
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	t := between(first, second, o.filter)
	order(t.Rows, o.sort, o.reverse)
	if len(targets) == 0 {
		targets = flags.OutputTargets{{Form: flags.TextForm.Name, File: "-"}}
	}
	return targets.Write(p, func(w io.Writer, form string) error {
		if form == flags.JSONForm.Name {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(t)
		}
		return t.writeText(w, o.sort, o.reverse)
	})
}

// run shows the view and reads until it ends.
func (v *view) run(ctx context.Context, in io.Reader, out io.Writer, ask func(context.Context) (*sample, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	v.read = time.Now()
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			s, err := ask(ctx)
			if ctx.Err() != nil {
				return
			}
			v.show(s, err)
			select {
			case <-time.After(v.interval):
			case <-ctx.Done():
			}
		}
	})
	err := ui.ShowFull(ctx, in, out, redraw, v)
	cancel()
	reading.Wait()
	return err
}
