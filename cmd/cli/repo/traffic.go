package repo

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/trafficrules"
)

var trafficForms = []flags.Form{flags.TextForm, flags.JSONForm}

// trafficOptions holds what the flags of all subcommands set.
type trafficOptions struct {
	server flags.Server
	model  string
	output flags.Output
	config string
}

func (o *trafficOptions) bind(f *flags.Set) {
	f.StringVarP(&o.model, "model", "m", "", "model or alias whose rules are meant")
	o.server.Bind(f, "localhost:8000", "address of the server's HTTP port", "header of every request, NAME:VALUE; may be repeated")
	o.output.Bind(f, trafficForms)
	f.StringVar(&o.config, "config", "", "file with settings in YAML, JSON or TOML; its keys are flag names")
}

// connect returns a client of the server.
func (o *trafficOptions) connect() (*client.Client, error) {
	options, err := o.server.Options(client.HTTP)
	if err != nil {
		return nil, err
	}
	c, err := client.New(options)
	if err != nil {
		return nil, process.UsageError("--url: %w", err)
	}
	return c, nil
}

// newTrafficCommand returns `triton repo traffic`.
func newTrafficCommand(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "traffic",
		Short: "Read and change which version answers, on a running server",
		Long: `Read and change the traffic rules of a running server: weights between versions
and models, canaries and shadows. docs/traffic.md describes the rules.`,
		Example: `  triton repo traffic get -m chat
  triton repo traffic canary -m chat --version 2 --stable 1
  triton repo traffic rollback -m chat`,
		Args: cobra.ArbitraryArgs,
		RunE: flags.RequireSubcommand,
	}
	cmd.AddCommand(getCommand(p), setCommand(p), deleteCommand(p), canaryCommand(p), promoteCommand(p), rollbackCommand(p), shadowCommand(p), diffsCommand(p))
	return cmd
}

// trafficCommand is one subcommand: what it does on a server, and the result to print.
type trafficCommand struct {
	use, short, example string
	bind                func(f *flags.Set)
	// all reports that the command works without a model.
	all  bool
	do   func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error)
	text func(w io.Writer, all []*trafficrules.Status) error // nil: text
}

func (s trafficCommand) command(p process.Process) *cobra.Command {
	var o trafficOptions
	cmd := &cobra.Command{Use: s.use, Short: s.short, Example: s.example}
	f := flags.New(p, "repo traffic "+s.use, cmd.Flags())
	o.bind(f)
	if s.bind != nil {
		s.bind(f)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return process.UsageError("%w", flags.Suggest(f, err)) })
	flags.Complete(cmd, map[string]flags.Completion{
		"output": flags.CompleteValues(flags.TextForm.Name, flags.JSONForm.Name),
		"model": func(*cobra.Command, string) []string {
			return flags.ServerModels(cmd.Context(), client.Options{Address: o.server.Address}, p.CompletionTime)
		},
	})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return process.UsageError("unexpected argument %q", args[0])
		case o.model == "" && !s.all:
			return process.UsageError("name the model with -m MODEL")
		}
		return s.run(cmd.Context(), p, &o)
	}
	return cmd
}

func (s trafficCommand) run(ctx context.Context, p process.Process, o *trafficOptions) error {
	targets, err := o.output.Targets(trafficForms)
	if err != nil {
		return process.UsageError("%w", err)
	}
	if len(targets) == 0 {
		targets = flags.OutputTargets{{Form: flags.TextForm.Name, File: "-"}}
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	all, err := s.do(ctx, c, o.model)
	if err != nil {
		return fmt.Errorf("repo traffic %s: %w", s.use, err)
	}
	if all == nil {
		return nil
	}
	return targets.Write(p, func(w io.Writer, form string) error {
		switch {
		case form == flags.JSONForm.Name:
			return writeTrafficJSON(w, all, o.model != "")
		case s.text != nil:
			return s.text(w, all)
		}
		return writeTrafficText(w, all)
	})
}
