package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/spf13/cobra"

	"triton/cmd/cli/complete"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/repo/scaffold"
)

func newScaffoldCommand(p process.Process) *cobra.Command {
	var o scaffoldOptions
	cmd := &cobra.Command{
		Use:   "scaffold MODEL",
		Short: "Make a model directory from a model file",
		Long: `Put an ONNX file into a model repository, as NAME/1/model.onnx, with the
NAME/config.pbtxt that a server would complete by itself, ready to be edited.
Files with external weights are copied too. Existing files are kept.

TorchScript (.pt), OpenVINO's IR (.xml) and the folder of a TensorFlow SavedModel
are put in place in the same way. The note after TorchScript says what to edit.

A Python file becomes NAME/1/model.py, with a config.pbtxt to be edited. If it
does not exist, a working example is written.`,
		Example: `  triton repo scaffold resnet50.onnx --model-repository models/
  triton repo scaffold export/model.onnx --name detector --max-batch-size 16 --link
  triton repo scaffold export/saved_model --name detector --model-repository models/
  triton repo scaffold doubler.py --model-repository models/`,
	}
	f := flags.New(p, "repo scaffold", cmd.Flags())
	o.bind(f)
	complete.Folders(cmd, "model-repository", "output")
	complete.Flags(cmd, map[string]complete.Func{"name": complete.Nothing, maxBatchFlag: complete.Nothing, "default-max-batch-size": complete.Nothing})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := f.FillCommand(o.config); err != nil {
			return err
		}
		switch {
		case len(args) != 1:
			return process.UsageError("repo scaffold takes one model file, %d were given", len(args))
		case o.Link && o.copied:
			return process.UsageError("--link and --copy exclude each other")
		case o.maxBatch < 0 || o.maxBatch > math.MaxInt32:
			return process.UsageError("--max-batch-size: %d is not between 0 and %d", o.maxBatch, math.MaxInt32)
		}
		if f.Changed(maxBatchFlag) {
			o.MaxBatchSize = &o.maxBatch
		}
		return runScaffold(p, args[0], o.Options)
	}
	return cmd
}

func runScaffold(p process.Process, file string, o scaffold.Options) error {
	res, err := scaffold.Write(file, o)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintln(p.Stderr, n)
	}
	for _, f := range res.Files {
		fmt.Fprintln(p.Stdout, f)
	}
	return nil
}
