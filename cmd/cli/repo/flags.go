package repo

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/repo/example"
	"triton/repo/lint"
	"triton/repo/scaffold"
)

const configUsage = "file with settings in YAML, JSON or TOML; its keys are flag names"

const defaultMaxBatchUsage = "the server's default-max-batch-size: max_batch_size of models that can batch and set none"

// lintOptions holds what the flags of lint set.
type lintOptions struct {
	lint.Options
	format   string // as in Output.Form
	output   flags.Output
	severity string
	failOn   string
	rules    bool
	explain  string
	rulesURL string

	baseline      string
	writeBaseline bool
	fix, diff     bool
	stdinPath     string
	color         string
	excerpt       string
	gpus          int
	config        string

	backendConfig []string
}

// maxGPUs bounds the number of GPUs of a machine.
const maxGPUs = 64

// linter returns the options of the linter.
func (o *lintOptions) linter() lint.Options {
	if o.gpus >= 0 {
		o.Machine = &modelconfig.Machine{}
		for i := range o.gpus {
			o.Machine.GPUs = append(o.Machine.GPUs, int32(i))
		}
	}
	return o.Options
}

func (o *lintOptions) bind(f *flags.Set) {
	o.output.Bind(f, forms())
	f.StringVar(&o.format, "format", "", "the same as --output; then --output is a file, as -o")
	f.StringVar(&o.severity, "severity", "warning", "lowest severity to report: note, warning, error")
	f.StringVar(&o.failOn, "fail-on", "", "lowest severity for which the exit code is 1: note, warning, error, or none (default: that of --severity)")
	f.BoolVar(&o.rules, "rules", false, "list the rules and exit")
	f.StringVar(&o.explain, "explain", "", "print the page of a rule, such as TRN310, and exit")
	f.StringVar(&o.rulesURL, "rules-url", "", "address of the pages of docs/rules on a web server, for helpUri in SARIF")
	f.StringVar(&o.baseline, "baseline", "", "file with findings that are accepted and not reported")
	f.BoolVar(&o.writeBaseline, "write-baseline", false, "write the findings into the file of --baseline and exit")
	f.BoolVar(&o.fix, "fix", false, "correct the findings that have one safe correction, and format the files that change; comments stay")
	f.BoolVarP(&o.diff, "diff", "d", false, "with --fix: print the changes and write nothing; the exit code is 1 if there are any")
	f.StringVar(&o.stdinPath, "stdin-path", "", "with the path -: the file that standard input is, for its name, its model and its neighbors (default: none, only the text is checked)")
	f.StringVar(&o.color, "color", "auto", "color the text: auto (on a terminal, without NO_COLOR), always, never")
	f.StringVar(&o.excerpt, "excerpt", "auto", "show the lines with findings in the text: auto (on a terminal), always, never")
	f.IntVar(&o.CPUs, "cpus", runtime.NumCPU(), "processors of the machine that will serve; 0 skips the rules about them")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", onnxmodel.DefaultMaxBatch, defaultMaxBatchUsage)
	f.StringVar(&o.ConfigName, "model-config-name", "", "the server's model-config-name: models that have this file in configs are checked with it alone")
	f.BoolVar(&o.Strict, "disable-auto-complete-config", false, "the server does not complete configurations")
	f.StringArrayVar(&o.backendConfig, "backend-config", nil, "a backend-config of the server, <backend>,<setting>=<value> or <setting>=<value>; default-max-batch-size and backend-directory are used")
	f.StringSliceVar(&o.Backends, "backends", nil, "names of the backends that the server has; a model that needs another is an error (default: those of this program, and a note for others of NVIDIA's)")
	f.StringVar(&o.BackendDirectory, "backend-directory", "", "the server's backend-directory: its folders with a model.py are backends")
	f.IntVar(&o.gpus, "gpus", -1, "number of GPUs of the machine that will serve; -1: not known, and every GPU that a configuration names is there")
	f.BoolVar(&o.NoWeights, "no-weights", false, "model files are left out on purpose: one note instead of an error for each model")
	f.StringVar(&o.Python, "python", "python3", "interpreter that reads model.py, without running it; empty skips the rules about Python models")
	f.StringVar(&o.config, "config", "", configUsage)
}

// applyBackendConfig reads the settings of --backend-config that matter here.
func (o *lintOptions) applyBackendConfig() error {
	for _, text := range o.backendConfig {
		backend, setting, ok := strings.Cut(text, ",")
		if !ok {
			backend, setting = "", text
		}
		name, value, ok := strings.Cut(setting, "=")
		switch {
		case !ok || name == "":
			return process.UsageError("--backend-config=%s: give <backend>,<setting>=<value> or <setting>=<value>", text)
		case name == "backend-directory" && backend == "":
			o.BackendDirectory = value
		case name == "default-max-batch-size" && (backend == "" || backend == "onnxruntime"):
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return process.UsageError("--backend-config=%s: %q is no number of at least 0", text, value)
			}
			o.DefaultMaxBatch = n
		}
	}
	return nil
}

// forms returns the forms of the findings. From SARIF on they are those of services that show them
// beside the code.
func forms() []flags.Form {
	return append(flags.Forms(), flags.Form{Name: "sarif", Extensions: []string{".sarif"}}, flags.Form{Name: "github"},
		flags.Form{Name: "junit"}, flags.Form{Name: "checkstyle"}, flags.Form{Name: "codeclimate"})
}

// targets returns where the findings go. The value of --output may be a file, as it was before
// -o: with --format, or with an extension that names no form, which means text.
func (o *lintOptions) targets() (flags.OutputTargets, error) {
	known := func(name string) bool {
		return slices.ContainsFunc(forms(), func(f flags.Form) bool { return f.Name == name })
	}
	file := o.output.Form
	switch {
	case o.format == "":
		if file == "" || known(file) || !strings.ContainsAny(file, "./") || flags.FormOf(forms(), file) != "" {
			return o.output.Targets(forms())
		}
		o.format = flags.TextForm.Name
	case !known(o.format):
		return nil, fmt.Errorf("--format: unknown format %q: use one of %s", o.format, flags.FormNames(forms(), ", "))
	case known(file):
		return nil, fmt.Errorf("--output %s and --format %s both name a form: leave out --format", file, o.format)
	}
	files := slices.Clone(o.output.Files)
	if file != "" {
		files = append(files, file)
	}
	return (&flags.Output{Form: o.format, Files: files}).Targets(forms())
}

// scaffoldOptions holds what the flags of scaffold set.
type scaffoldOptions struct {
	scaffold.Options
	maxBatch int // MaxBatchSize, when it is set
	copied   bool
	print    bool
	comments bool
	ensemble string
	config   string
}

const maxBatchFlag = "max-batch-size"

func (o *scaffoldOptions) bind(f *flags.Set) {
	f.StringVar(&o.Name, "name", "", "name of the model (default: from the file's name)")
	f.StringVar(&o.Output, "model-repository", ".", "repository to put the model into")
	f.StringVar(&o.Output, "output", ".", "the same as --model-repository")
	f.MarkCommandLineOnly("output") // in the environment it would be the one of other commands
	f.IntVar(&o.maxBatch, maxBatchFlag, 0, "largest batch; 0 is no batch dimension (default: the server's choice)")
	f.IntVar(&o.DefaultMaxBatch, "default-max-batch-size", onnxmodel.DefaultMaxBatch, defaultMaxBatchUsage)
	f.BoolVar(&o.Link, "link", false, "link to the file instead of copying it")
	f.BoolVar(&o.copied, "copy", false, "copy the file (the default)")
	f.BoolVar(&o.Force, "force", false, "replace existing files")
	f.BoolVar(&o.print, "print", false, "print the configuration and write nothing")
	f.BoolVar(&o.comments, "comments", true, "explain the parts of the configuration in comments")
	f.StringVar(&o.ensemble, "ensemble", "", "make an ensemble of this name; the arguments are models of the repository that run one after the other")
	f.StringVar(&o.config, "config", "", configUsage)
}

// bindExample returns where the name of the configuration file will be.
func bindExample(o *example.Options, f *flags.Set) (config *string) {
	f.Uint64Var(&o.Seed, "seed", example.DefaultSeed, "seed of the random weights")
	f.StringSliceVar(&o.Models, "model", nil, "write only this model and those that it calls; may be repeated (default all that load without a GPU)")
	f.BoolVar(&o.Pipeline, "pipeline", false, "write ensemble_pipeline and its steps, two of them in Python, instead of the other models with random weights")
	f.BoolVar(&o.Trained, "trained", false, "write the trained models of Python packages instead of the models with random weights")
	f.StringVar(&o.Python, "python", "python3", "Python whose pip fetches the packages for --trained")
	f.StringVar(&o.Packages, "packages", "", "folder that keeps the fetched packages (default: they are not kept)")
	f.BoolVar(&o.Force, "force", false, "replace existing model folders")
	return f.String("config", "", configUsage)
}
