package repo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/repo"
	"triton/repo/render"
)

// diffOptions holds what the flags of diff set.
type diffOptions struct {
	render.Options
	form      string
	asWritten bool
	config    string
}

func (o *diffOptions) bind(f *flags.Set) {
	f.StringVar(&o.form, "output", "text", "form of the result: text, or json")
	f.BoolVar(&o.asWritten, "as-written", false, "compare what is in the files, without what a server adds")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", onnxmodel.DefaultMaxBatch, defaultMaxBatchUsage)
	f.StringVar(&o.config, "config", "", configUsage)
}

func newDiffCommand(p process.Process) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff FROM TO",
		Short: "Compare configurations and repositories by meaning",
		Long: `Print the differences of two configurations, models or repositories, as a server
completes them: comments, the order of fields and defaults that are written out do
not count. Models of repositories are compared by their names, tensors and steps
too. + is added, - removed, ~ changed.

The exit code is 0 without differences, 1 with some, and 2 when the command line is
wrong or a path cannot be read.`,
		Example: `  triton repo diff models/resnet50 staging/resnet50
  triton repo diff models/ staging/
  triton repo diff --as-written old.pbtxt new.pbtxt`,
	}
	f := flags.New(p, "repo diff", cmd.Flags())
	o.bind(f)
	flags.Complete(cmd, map[string]flags.Completion{"output": flags.CompleteValues("text", formJSON), "default-max-batch-size": flags.CompleteNothing})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) != 2:
			return process.UsageError("repo diff takes two paths, %d were given", len(args))
		case o.form != "text" && o.form != formJSON:
			return process.UsageError("--output: unknown form %q: use text or json", o.form)
		}
		return runDiff(p, o, args[0], args[1])
	}
	return cmd
}

func runDiff(p process.Process, o diffOptions, from, to string) error {
	old, err := o.open(p, from)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	now, err := o.open(p, to)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	changes := compareModels(old, now)
	if err := printChanges(p, o.form, changes); err != nil {
		return err
	}
	if len(changes) > 0 {
		return &process.ExitError{Code: process.Failure}
	}
	return nil
}

// open returns the models at a path with their configurations.
func (o *diffOptions) open(p process.Process, path string) ([]comparedModel, error) {
	models, err := repo.Open(path)
	if err != nil {
		return nil, err
	}
	var list []comparedModel
	for i := range models {
		one, err := o.model(p, &models[i])
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func (o *diffOptions) model(p process.Process, m *repo.Model) (comparedModel, error) {
	one := comparedModel{Name: m.Name}
	if !m.ConfigOnly {
		one.Versions = []int64{}
	}
	for _, v := range m.Versions {
		if v.Ignored == "" {
			one.Versions = append(one.Versions, v.Number)
		}
	}
	src, err := m.ReadConfig()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return one, err
	}
	written, err := modelconfig.Parse(m.ConfigFile, src)
	if err != nil {
		return one, err
	}
	one.Config = written.ModelConfig
	if o.asWritten {
		return one, nil
	}
	r, err := render.Complete(m, o.Options)
	if err != nil {
		fmt.Fprintf(p.Stderr, "%v: compared as it is written\n", err)
		return one, nil
	}
	for _, n := range r.Notes {
		fmt.Fprintf(p.Stderr, "%s: %s\n", m.ConfigFile, n)
	}
	one.Config = r.Config
	return one, nil
}

func printChanges(p process.Process, form string, changes []configChange) error {
	if form == formJSON {
		if changes == nil {
			changes = []configChange{}
		}
		e := json.NewEncoder(p.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(changes)
	}
	model := ""
	for _, c := range changes {
		switch {
		case c.Path == "" && c.Old == "":
			fmt.Fprintf(p.Stdout, "+ %s\n", c.Model)
		case c.Path == "":
			fmt.Fprintf(p.Stdout, "- %s\n", c.Model)
		default:
			if c.Model != model {
				fmt.Fprintln(p.Stdout, c.Model)
			}
			fmt.Fprintf(p.Stdout, "  %s\n", c)
		}
		model = c.Model
	}
	return nil
}
