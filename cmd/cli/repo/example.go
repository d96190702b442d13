package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/repo/example"
)

func newExampleCommand(p process.Process) *cobra.Command {
	o := example.Options{}
	cmd := &cobra.Command{
		Use:   "example DIR",
		Short: "Write a repository of example models",
		Long: `Write ONNX models with seeded random weights and their config.pbtxt into the
model repository DIR: a real ResNet-50, a small text classifier with two
versions, simple vector arithmetic on integers and on text, an ONNX model that
keeps a state, one with ragged inputs, and an identity model for each data type;
a text pipeline, an ensemble from text to predictions; and one model for each
backend that needs no file. The same seed gives the same bytes everywhere.

With --pipeline it writes ensemble_pipeline instead, an ensemble of a tokenizer
in Python, an ONNX model and a postprocessor in Python, to be changed into your
own. The Python models need numpy.

With --trained it writes trained models instead: voice_activity detects speech,
with an implicit state for each audio stream; file_type recognizes the type of a
file by its content; text_recognition reads a line of text; ocr reads the text
of a picture, as an ensemble with steps in Python, and ocr_bls as one Python
model that calls the networks. They are extracted from Python packages with free
licenses (silero-vad, MIT; magika and rapidocr-onnxruntime, Apache-2.0), which
pip fetches by version and hash. A client.py in a folder calls the model.

A model that calls others is written together with them.`,
		Example: `  triton repo example models/
  triton repo example models/ --model simple --model resnet50
  triton repo example models/ --pipeline
  triton repo example models/ --trained --model ocr`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return process.UsageError("repo example takes one folder to write into, %d were given", len(args))
			}
			return nil
		},
	}
	f := flags.New(p, "repo example", cmd.Flags())
	config := bindExample(&o, f)
	flags.CompleteFolders(cmd, "packages")
	flags.Complete(cmd, map[string]flags.Completion{"model": flags.CompleteValues(example.Names()...), "seed": flags.CompleteNothing})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	f.FillBefore(cmd, config)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runExample(cmd.Context(), p, args[0], o) }
	return cmd
}

// runExample writes the models and prints a line for each. After an interrupt, or when
// the reader of the lines ends, the folder has only complete models.
func runExample(ctx context.Context, p process.Process, dir string, o example.Options) error {
	ctx, stop := p.Interruptible(ctx)
	defer stop()
	if p.IgnoreBrokenPipe != nil { // else a reader that ends would leave an unfinished model behind
		p.IgnoreBrokenPipe()
	}
	o.Written = func(model string, bytes int64) {
		fmt.Fprintf(p.Stdout, "%-18s %9.1f KiB\n", model, float64(bytes)/1024)
	}
	err := example.Write(ctx, dir, o)
	if exists := (*example.ExistsError)(nil); errors.As(err, &exists) {
		return fmt.Errorf("%w; --force replaces these folders", err)
	}
	if err == nil {
		fmt.Fprintf(p.Stdout, "serve them with: triton serve --model-repository %s\n", dir)
	}
	return err
}
