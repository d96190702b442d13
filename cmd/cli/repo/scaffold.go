package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/repo/scaffold"
)

func newScaffoldCommand(p process.Process) *cobra.Command {
	var o scaffoldOptions
	cmd := &cobra.Command{
		Use:   "scaffold MODEL...",
		Short: "Make model directories from model files",
		Long: `Put an ONNX file into a model repository, as NAME/1/model.onnx, with the
NAME/config.pbtxt that a server would complete by itself, ready to be edited.
Files with external weights are copied too. Existing files are kept.

TorchScript (.pt), OpenVINO's IR (.xml) and the folder of a TensorFlow SavedModel
are put in place in the same way, and so are models of XGBoost, LightGBM and
scikit-learn. Notes say what to edit.

With --ensemble the arguments are models of the repository. The ensemble runs them
one after the other; tensors are connected by name, or else by type and shape.

A Python file becomes NAME/1/model.py, with a config.pbtxt to be edited. If it
does not exist, a working example is written.`,
		Example: `  triton repo scaffold resnet50.onnx --model-repository models/
  triton repo scaffold export/model.onnx --name detector --max-batch-size 16 --link
  triton repo scaffold export/saved_model --name detector --model-repository models/
  triton repo scaffold doubler.py --model-repository models/
  triton repo scaffold --print trees.json
  triton repo scaffold --ensemble text_pipeline tokenizer bert_model postprocessor --model-repository models/`,
	}
	f := flags.New(p, "repo scaffold", cmd.Flags())
	o.bind(f)
	flags.CompleteFolders(cmd, "model-repository", "output")
	flags.Complete(cmd, map[string]flags.Completion{"name": flags.CompleteNothing, maxBatchFlag: flags.CompleteNothing, "default-max-batch-size": flags.CompleteNothing})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := o.check(args); err != nil {
			return err
		}
		if f.Changed(maxBatchFlag) {
			o.MaxBatchSize = &o.maxBatch
		}
		o.Bare = !o.comments
		return runScaffold(p, args, o)
	}
	return cmd
}

func (o *scaffoldOptions) check(args []string) error {
	switch {
	case len(args) == 0:
		return process.UsageError("repo scaffold takes a model file, none was given")
	case len(args) > 1 && o.Name != "":
		return process.UsageError("--name is the name of one model, and %d were given", len(args))
	case o.ensemble != "" && o.Name != "":
		return process.UsageError("--ensemble and --name both give the ensemble a name: leave out --name")
	case o.ensemble != "" && o.Link:
		return process.UsageError("--link has no effect with --ensemble, which has no model file")
	case o.Link && o.copied:
		return process.UsageError("--link and --copy exclude each other")
	case o.maxBatch < 0 || o.maxBatch > math.MaxInt32:
		return process.UsageError("--max-batch-size: %d is not between 0 and %d", o.maxBatch, math.MaxInt32)
	}
	return nil
}

// runScaffold reads all models before it writes one.
func runScaffold(p process.Process, args []string, o scaffoldOptions) error {
	models, err := readModels(args, o)
	if err != nil {
		return err
	}
	for _, m := range models {
		for _, n := range m.Notes() {
			fmt.Fprintln(p.Stderr, n)
		}
		if o.print {
			if len(models) > 1 {
				fmt.Fprintf(p.Stdout, "# %s/%s\n", m.Name(), modelconfig.FileName)
			}
			if _, err := p.Stdout.Write(m.Text(o.comments)); err != nil {
				return err
			}
			continue
		}
		res, err := m.Write(o.Options)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w; --force replaces it", err)
		}
		if err != nil {
			return err
		}
		for _, f := range res.Files {
			fmt.Fprintln(p.Stdout, f)
		}
	}
	return nil
}

func readModels(args []string, o scaffoldOptions) ([]*scaffold.Model, error) {
	if o.ensemble != "" {
		o.Name = o.ensemble
		m, err := scaffold.ReadEnsemble(args, o.Options)
		return []*scaffold.Model{m}, err
	}
	var models []*scaffold.Model
	files := map[string]string{}
	for _, file := range args {
		m, err := scaffold.Read(file, o.Options)
		if err != nil {
			return nil, err
		}
		if other, twice := files[m.Name()]; twice {
			return nil, fmt.Errorf("%s and %s would both become the model %s: make them one after the other, with --name", other, file, m.Name())
		}
		files[m.Name()] = file
		models = append(models, m)
	}
	return models, nil
}
