package repo

import (
	"runtime"
	"strings"

	"triton/cmd/cli/flags"
	"triton/pkg/onnxmodel/autofill"
	"triton/repo/example"
	"triton/repo/lint"
	"triton/repo/report"
	"triton/repo/scaffold"
)

const defaultMaxBatchUsage = "the server's default-max-batch-size: max_batch_size of models that can batch and set none"

// lintOptions holds what the flags of lint set.
type lintOptions struct {
	lint.Options
	format   string
	output   string
	severity string
	rules    bool
}

func (o *lintOptions) bind(f *flags.Set) {
	f.StringVar(&o.format, "format", "text", "format of the output: "+strings.Join(report.Formats(), ", "))
	f.StringVar(&o.output, "output", "", "write to this file instead of standard output")
	f.StringVar(&o.severity, "severity", "warning", "lowest severity to report: note, warning, error")
	f.BoolVar(&o.rules, "rules", false, "list the rules and exit")
	f.IntVar(&o.CPUs, "cpus", runtime.NumCPU(), "processors of the machine that will serve; 0 skips the rules about them")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", autofill.DefaultMaxBatch, defaultMaxBatchUsage)
	f.StringVar(&o.Python, "python", "python3", "interpreter that reads model.py, without running it; empty skips the rules about Python models")
}

// scaffoldOptions holds what the flags of scaffold set.
type scaffoldOptions struct {
	scaffold.Options
	maxBatch int // MaxBatchSize, when it is set
	copied   bool
}

const maxBatchFlag = "max-batch-size"

func (o *scaffoldOptions) bind(f *flags.Set) {
	f.StringVar(&o.Name, "name", "", "name of the model (default: from the file's name)")
	f.StringVar(&o.Output, "output", ".", "repository to put the model into")
	f.IntVar(&o.maxBatch, maxBatchFlag, 0, "largest batch; 0 is no batch dimension (default: the server's choice)")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", autofill.DefaultMaxBatch, defaultMaxBatchUsage)
	f.BoolVar(&o.Link, "link", false, "link to the file instead of copying it")
	f.BoolVar(&o.copied, "copy", false, "copy the file (the default)")
	f.BoolVar(&o.Force, "force", false, "replace existing files")
}

func bindExample(o *example.Options, f *flags.Set) {
	f.Uint64Var(&o.Seed, "seed", example.DefaultSeed, "seed of the random weights")
	f.StringSliceVar(&o.Models, "model", nil, "write only this model and those that it calls; may be repeated (default all that load without a GPU)")
	f.BoolVar(&o.Pipeline, "pipeline", false, "write ensemble_pipeline and its steps, two of them in Python, instead of the other models with random weights")
	f.BoolVar(&o.Trained, "trained", false, "write the trained models of Python packages instead of the models with random weights")
	f.StringVar(&o.Python, "python", "python3", "Python whose pip fetches the packages for --trained")
	f.StringVar(&o.Packages, "packages", "", "folder that keeps the fetched packages (default: they are not kept)")
	f.BoolVar(&o.Force, "force", false, "replace existing model folders")
}
