package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/spf13/cobra"

	"triton/pkg/onnxmodel/autofill"
	"triton/repo/scaffold"
)

func newRepoScaffoldCommand(w World) *cobra.Command {
	var (
		o        scaffold.Options
		maxBatch int
		copied   bool
	)
	const maxBatchFlag = "max-batch-size"
	cmd := &cobra.Command{
		Use:   "scaffold MODEL.onnx",
		Short: "Make a model directory of an ONNX file",
		Long: `Put an ONNX file into a model repository, as NAME/1/model.onnx, with the
NAME/config.pbtxt that a server would complete by itself, ready to be edited.
Weights in files of their own come along. Files that exist are kept.`,
		Example: `  triton repo scaffold resnet50.onnx --output models/
  triton repo scaffold export/model.onnx --name detector --max-batch-size 16 --link`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settleCommand(w, cmd, ""); err != nil {
				return err
			}
			switch {
			case len(args) != 1:
				return usageError("repo scaffold takes one ONNX file, %d were given", len(args))
			case o.Link && copied:
				return usageError("--link and --copy exclude each other")
			case maxBatch < 0 || maxBatch > math.MaxInt32:
				return usageError("--max-batch-size: %d is not between 0 and %d", maxBatch, math.MaxInt32)
			}
			if cmd.Flags().Changed(maxBatchFlag) {
				o.MaxBatchSize = &maxBatch
			}
			return runRepoScaffold(w, args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the model (default: from the file's name)")
	f.StringVar(&o.Output, "output", ".", "repository to put the model into")
	f.IntVar(&maxBatch, maxBatchFlag, 0, "largest batch; 0 for none (default: what a server would choose)")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", autofill.DefaultMaxBatch, "the server's default for models that can batch")
	f.BoolVar(&o.Link, "link", false, "link to the ONNX file instead of copying it")
	f.BoolVar(&copied, "copy", false, "copy the ONNX file (the default)")
	f.BoolVar(&o.Force, "force", false, "replace files that exist")
	return cmd
}

func runRepoScaffold(w World, file string, o scaffold.Options) error {
	res, err := scaffold.Write(file, o)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintln(w.Stderr, n)
	}
	for _, f := range res.Files {
		fmt.Fprintln(w.Stdout, f)
	}
	return nil
}
