// Package traffic is `triton repo traffic`: it reads and changes the traffic rules of a server.
package traffic

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"triton/cmd/cli/complete"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/output"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/routing"
)

var forms = []output.Form{output.Text, output.JSON}

// options holds what the flags of all subcommands set.
type options struct {
	client  client.Options
	tls     client.TLSFiles
	headers []string
	model   string
	output  output.Options
	config  string
}

func (o *options) bind(f *flags.Set) {
	f.StringVarP(&o.model, "model", "m", "", "model or alias whose rules are meant")
	f.StringVarP(&o.client.Address, "url", "u", "localhost:8000", "address of the server's HTTP port")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "header of every request, NAME:VALUE; may be repeated")
	f.StringVar(&o.tls.Root, "tls-ca-file", "", "root certificates of the server, PEM (default the machine's)")
	f.StringVar(&o.tls.Cert, "tls-cert-file", "", "certificate of the client with its chain, PEM")
	f.StringVar(&o.tls.Key, "tls-key-file", "", "key of the client's certificate, PEM")
	o.output.Bind(f, forms)
	f.StringVar(&o.config, "config", "", "file with settings in YAML, JSON or TOML; its keys are flag names")
}

// connect returns a client of the server.
func (o *options) connect() (*client.Client, error) {
	o.client.Address = flags.WithPort(cmp.Or(o.client.Address, "localhost"), "8000")
	var err error
	if o.client.Headers, err = flags.Headers(o.headers); err != nil {
		return nil, err
	}
	if o.tls != (client.TLSFiles{}) {
		if o.client.TLS, err = o.tls.Config(); err != nil {
			return nil, err
		}
	}
	c, err := client.New(o.client)
	if err != nil {
		return nil, process.UsageError("--url: %w", err)
	}
	return c, nil
}

// NewCommand returns `triton repo traffic`.
func NewCommand(p process.Process) *cobra.Command {
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

// subcommand is one subcommand: what it does on a server, and the result to print.
type subcommand struct {
	use, short, example string
	bind                func(f *flags.Set)
	// all reports that the command works without a model.
	all  bool
	do   func(ctx context.Context, c *client.Client, model string) ([]*routing.Status, error)
	text func(w io.Writer, all []*routing.Status) error // nil: text
}

func (s subcommand) command(p process.Process) *cobra.Command {
	var o options
	cmd := &cobra.Command{Use: s.use, Short: s.short, Example: s.example}
	f := flags.New(p, "repo traffic "+s.use, cmd.Flags())
	o.bind(f)
	if s.bind != nil {
		s.bind(f)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return process.UsageError("%w", flags.Suggest(f, err)) })
	complete.Flags(cmd, map[string]complete.Func{
		"output": complete.Values(output.Text.Name, output.JSON.Name),
		"model": func(*cobra.Command, string) []string {
			return complete.ServerModels(cmd.Context(), o.client, p.CompletionTime)
		},
	})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := f.FillCommand(o.config); err != nil {
			return err
		}
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

func (s subcommand) run(ctx context.Context, p process.Process, o *options) error {
	targets, err := o.output.Targets(forms)
	if err != nil {
		return process.UsageError("%w", err)
	}
	if len(targets) == 0 {
		targets = output.Targets{{Form: output.Text.Name, File: "-"}}
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
		case form == output.JSON.Name:
			return writeJSON(w, all, o.model != "")
		case s.text != nil:
			return s.text(w, all)
		}
		return writeText(w, all)
	})
}
