package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/fleetstate"
)

// stateOptions holds what the flags of state export, diff and apply set.
type stateOptions struct {
	server  string
	headers []string
	timeout time.Duration
	form    string
	dry     bool
	config  string
}

func (o *stateOptions) bind(f *flags.Set) {
	f.StringVarP(&o.server, "url", "u", "localhost:8000", "address of the server: host:port, or a URL such as https://host:port")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "NAME:VALUE, a header of every request, such as the secret of a restricted API; may be repeated")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time that the server may take; loads count")
	f.StringVar(&o.config, "config", "", configUsage)
}

func (o *stateOptions) bindForm(f *flags.Set) {
	f.StringVar(&o.form, "output", "text", "form of the result: text, or json")
}

func (o *stateOptions) bindDry(f *flags.Set) {
	f.BoolVar(&o.dry, "dry-run", false, "print what would be done, and do nothing")
}

func newStateCommand(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Export, compare and apply the state of a running server",
		Long: `The state of a server is a document in JSON or YAML: its models with versions and
configurations, traffic rules, and the settings of log and traces. triton serve --state
follows such a document.`,
		Args: cobra.ArbitraryArgs,
		RunE: flags.RequireSubcommand,
	}
	cmd.AddCommand(newStateExport(p), newStateDiff(p), newStateApply(p))
	return cmd
}

func newStateExport(p process.Process) *cobra.Command {
	return stateCommand(p, "export", 0, &cobra.Command{
		Use:     "export",
		Short:   "Print the state of what a server serves",
		Example: "  triton repo state export -u localhost:8000 > state.json",
	}, nil, func(ctx context.Context, c *client.Client, _ *stateOptions, _ []byte) error {
		text, err := c.State(ctx)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := json.Indent(&out, text, "", "  "); err != nil {
			return fmt.Errorf("the server did not answer with a state: %w", err)
		}
		out.WriteByte('\n')
		_, err = p.Stdout.Write(out.Bytes())
		return err
	})
}

func newStateDiff(p process.Process) *cobra.Command {
	return stateCommand(p, "diff", 1, &cobra.Command{
		Use:   "diff FILE",
		Short: "Print how a server differs from a state",
		Long: `Print what apply would do. The exit code is 0 without differences, 1 with some, and 2
when the command line is wrong, the FILE is no state or the server cannot be asked. The
FILE - is standard input.`,
		Example: "  triton repo state diff state.yaml -u localhost:8000",
	}, (*stateOptions).bindForm, func(ctx context.Context, c *client.Client, o *stateOptions, document []byte) error {
		r, err := applyDocument(ctx, c, document, true)
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		if err := printActions(p, o.form, r); err != nil {
			return err
		}
		if len(r.Actions) > 0 {
			return &process.ExitError{Code: process.Failure}
		}
		return nil
	})
}

func newStateApply(p process.Process) *cobra.Command {
	bind := func(o *stateOptions, f *flags.Set) {
		o.bindForm(f)
		o.bindDry(f)
	}
	return stateCommand(p, "apply", 1, &cobra.Command{
		Use:   "apply FILE",
		Short: "Bring a server to a state, once",
		Long: `Load and unload models and change settings until the server is as the state says. Models
that the state does not have are unloaded, unless it says "prune": false. The server
needs --model-control-mode explicit. A server with --state and --state-write keeps the
state. The exit code is 1 if an action failed. The FILE - is standard input.`,
		Example: "  triton repo state apply state.yaml -u localhost:8000 --dry-run",
	}, bind, func(ctx context.Context, c *client.Client, o *stateOptions, document []byte) error {
		r, err := applyDocument(ctx, c, document, o.dry)
		if err != nil {
			return err
		}
		if err := printActions(p, o.form, r); err != nil {
			return err
		}
		for _, a := range r.Actions {
			if a.Error != "" {
				return &process.ExitError{Code: process.Failure}
			}
		}
		return nil
	})
}

// stateCommand completes a subcommand of state: files is the number of its arguments, and do gets
// the document of the first one as JSON.
func stateCommand(
	p process.Process, name string, files int, cmd *cobra.Command, bind func(*stateOptions, *flags.Set),
	do func(context.Context, *client.Client, *stateOptions, []byte) error,
) *cobra.Command {
	var o stateOptions
	f := flags.New(p, "repo state "+name, cmd.Flags())
	o.bind(f)
	completions := map[string]flags.Completion{"url": flags.CompleteNothing, "header": flags.CompleteNothing, "timeout": flags.CompleteNothing}
	if bind != nil {
		bind(&o, f)
		completions["output"] = flags.CompleteValues("text", formJSON)
	}
	flags.Complete(cmd, completions)
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) != files:
			return process.UsageError("repo state %s takes %d files, %d were given", name, files, len(args))
		case o.form != "" && o.form != "text" && o.form != formJSON:
			return process.UsageError("--output: unknown form %q: use text or json", o.form)
		}
		var document []byte
		if files > 0 {
			var err error
			if document, err = readState(p, args[0]); err != nil {
				return &process.ExitError{Code: process.Usage, Err: err}
			}
		}
		c, err := o.client()
		if err != nil {
			return &process.ExitError{Code: process.Usage, Err: err}
		}
		defer func() { _ = c.Close() }()
		ctx, stop := p.Interruptible(cmd.Context())
		defer stop()
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		return do(ctx, c, &o, document)
	}
	return cmd
}

func (o *stateOptions) client() (*client.Client, error) {
	headers, err := flags.Headers(o.headers)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{Address: flags.WithPort(o.server, "8000"), Headers: headers})
}

// readState reads a document, checks it, and returns it in JSON. Fields that are not known are
// reported and stay in JSON.
func readState(p process.Process, path string) ([]byte, error) {
	var text []byte
	var err error
	if path == "-" {
		text, err = io.ReadAll(io.LimitReader(p.Stdin, fleetstate.MaxSize+1))
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	d, warnings, err := fleetstate.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, w := range warnings {
		fmt.Fprintf(p.Stderr, "%s: %s\n", path, w)
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return text, nil
	}
	return json.Marshal(d)
}

// stateResult is the server's answer to a document.
type stateResult struct {
	Actions    []stateAction `json:"actions"`
	Generation int64         `json:"generation,omitempty"`
}

type stateAction struct {
	Do    string `json:"do"`
	Model string `json:"model,omitempty"`
	What  string `json:"what"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	Error string `json:"error,omitempty"`
}

func applyDocument(ctx context.Context, c *client.Client, document []byte, dry bool) (stateResult, error) {
	var r stateResult
	text, err := c.ApplyState(ctx, document, dry)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return r, nil
}

// maxCell bounds the columns of a value in the table: a configuration may be long.
const maxCell = 60

func printActions(p process.Process, form string, r stateResult) error {
	if form == formJSON {
		e := json.NewEncoder(p.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	if len(r.Actions) == 0 {
		_, err := fmt.Fprintln(p.Stdout, "no differences")
		return err
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ACTION\tMODEL\tWHAT\tFROM\tTO\tERROR")
	for _, a := range r.Actions {
		cells := []string{a.Do, a.Model, a.What, short(a.From), short(a.To), a.Error}
		for i, c := range cells {
			if c == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxCell {
		return string(r[:maxCell-1]) + "…"
	}
	return s
}
