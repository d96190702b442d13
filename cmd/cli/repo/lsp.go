package repo

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/onnxmodel"
	"triton/repo/lsp"
)

// lspOptions holds what the flags of lsp set.
type lspOptions struct {
	lsp.Options
	stdio   bool
	verbose bool
	config  string
}

func (o *lspOptions) bind(f *flags.Set) {
	f.IntVar(&o.Lint.CPUs, "cpus", runtime.NumCPU(), "processors of the machine that will serve; 0 skips the rules about them")
	f.IntVar(&o.Lint.DefaultMaxBatch, "default-max-batch-size", onnxmodel.DefaultMaxBatch, defaultMaxBatchUsage)
	f.StringVar(&o.Lint.Python, "python", "python3", "interpreter that reads model.py, without running it; empty skips the rules about Python models")
	f.StringVar(&o.RulesURL, "rules-url", "", "address of the pages of docs/rules on a web server, for links from findings")
	f.BoolVar(&o.verbose, "verbose", false, "log refused requests to standard error")
	f.BoolVar(&o.stdio, "stdio", true, "speak over standard input and output, as always; some editors give the flag")
	f.StringVar(&o.config, "config", "", configUsage)
}

func newLSPCommand(p process.Process) *cobra.Command {
	var o lspOptions
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors: findings, completion, formatting of configurations",
		Long: `Speak the Language Server Protocol over standard input and output: findings while
one types, completion of fields, values, tensors and models, descriptions of fields,
corrections, formatting, and the way from an ensemble to its models. Editors start
it by themselves; docs/repo.md has their settings.`,
		Example: `  triton repo lsp`,
		Args:    cobra.ArbitraryArgs,
	}
	f := flags.New(p, "repo lsp", cmd.Flags())
	o.bind(f)
	flags.Complete(cmd, map[string]flags.Completion{
		"cpus": flags.CompleteNothing, "default-max-batch-size": flags.CompleteNothing, "rules-url": flags.CompleteNothing,
	})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return process.UsageError("repo lsp takes no arguments: an editor names the files")
		case o.Lint.CPUs < 0:
			return process.UsageError("--cpus: %d is less than 0", o.Lint.CPUs)
		case !o.stdio:
			return process.UsageError("--stdio=false: there is no other way than standard input and output")
		}
		level := slog.LevelWarn
		if o.verbose {
			level = slog.LevelDebug
		}
		o.Version = p.Version
		o.Log = slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: level}))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		signals, stop := p.Signals()
		defer stop()
		go func() {
			select {
			case <-signals:
				cancel()
			case <-ctx.Done():
			}
		}()
		return lsp.Serve(ctx, p.Stdin, p.Stdout, o.Options)
	}
	return cmd
}
