package repo

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/repo/render"
)

// renderOptions holds what the flags of render set.
type renderOptions struct {
	render.Options
	form      string
	plain     bool
	stdinPath string
	config    string
}

// The forms of a completed configuration.
const (
	formText = "pbtxt"
	formJSON = "json"
)

func (o *renderOptions) bind(f *flags.Set) {
	f.StringVar(&o.form, "output", formText, "form of the result: pbtxt, or json with the fields that were added")
	f.BoolVar(&o.plain, "plain", false, "leave out the comments about what was added")
	f.IntVar(&o.GPUs, "gpus", 0, "GPUs of the machine that will serve")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", onnxmodel.DefaultMaxBatch, defaultMaxBatchUsage)
	f.StringVar(&o.stdinPath, "stdin-path", "", "with the path -: the file that standard input is, for its name and its model (default: none)")
	f.StringVar(&o.config, "config", "", configUsage)
}

func newRenderCommand(p process.Process) *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render PATH...",
		Short: "Show configurations as a server completes them",
		Long: `Print what a server makes of config.pbtxt, or of a model without one: the backend
that it detects, inputs and outputs of the ONNX graph, and its defaults. A comment
behind each added field says where it comes from; the comments of the file stay. A
PATH is a repository, one model's directory, one config.pbtxt, or - for standard
input.

No backend is loaded: what auto_complete_config of a model.py would add is missing.`,
		Example: `  triton repo render models/resnet50
  triton repo render --plain models/resnet50 > config.pbtxt
  triton repo render --output json models/`,
	}
	f := flags.New(p, "repo render", cmd.Flags())
	o.bind(f)
	flags.Complete(cmd, map[string]flags.Completion{
		"output": flags.CompleteValues(formText, formJSON), "gpus": flags.CompleteNothing, "default-max-batch-size": flags.CompleteNothing,
	})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return process.UsageError("repo render takes the path of a repository, a model or a %s", modelconfig.FileName)
		case o.form != formText && o.form != formJSON:
			return process.UsageError("--output: unknown form %q: use pbtxt or json", o.form)
		case o.GPUs < 0 || o.GPUs > maxGPUs:
			return process.UsageError("--gpus: %d is not between 0 and %d", o.GPUs, maxGPUs)
		}
		return runRender(p, o, args)
	}
	return cmd
}

func runRender(p process.Process, o renderOptions, paths []string) error {
	models, err := openModels(p, paths, o.stdinPath)
	if err != nil {
		return err
	}
	var errs []error
	for i := range models {
		r, err := render.Complete(&models[i], o.Options)
		if err == nil {
			err = printCompleted(p, o, r, len(models) > 1)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// renderedModel is a completed configuration in JSON.
type renderedModel struct {
	Model  string            `json:"model"`
	Config json.RawMessage   `json:"config"`
	Added  []render.Addition `json:"added"`
	Notes  []string          `json:"notes,omitempty"`
}

func printCompleted(p process.Process, o renderOptions, r *render.Result, several bool) error {
	if o.form == formJSON {
		config, err := modelconfig.MarshalJSON(r.Config)
		if err != nil {
			return err
		}
		added := r.Added
		if added == nil {
			added = []render.Addition{}
		}
		e := json.NewEncoder(p.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(renderedModel{r.Model, config, added, r.Notes})
	}
	text, err := r.Text(!o.plain)
	if err != nil {
		return err
	}
	if several {
		fmt.Fprintf(p.Stdout, "# ---- %s\n", r.File)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(p.Stderr, "%s: %s\n", r.File, n)
	}
	_, err = p.Stdout.Write(text)
	return err
}
