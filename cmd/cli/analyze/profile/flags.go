package profile

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triton/analyzer/settings"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// bind adds the flags of the options to the command.
func bind(p process.Process, o *settings.Profile, cmd *cobra.Command, result *flags.Output) *optionFlags {
	f := bindOptions(p, "analyze "+cmd.Name(), cmd, commonFlags{Mode: &o.Mode, Quiet: &o.Quiet, Verbose: &o.Verbose},
		o.Options(), o.RemovedFlags(), settings.OwnFlags()...)
	f.Group("Result in one file")
	own := flags.New(p, cmd.Name(), pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError))
	result.Bind(own, flags.Forms())
	own.VisitAll(func(flag *pflag.Flag) { f.Add(flag.Value, flag.Name, flag.Shorthand, flag.Usage) })
	f.MarkOwn("output", "output-file")
	f.MarkCommandLineOnly("output", "output-file")
	f.Group("")
	modelNames := func(*cobra.Command, string) []string {
		if o.ModelRepository == "" {
			_, folder := f.Variable("model-repository")
			return flags.RepositoryModels([]string{folder})
		}
		return flags.RepositoryModels([]string{o.ModelRepository})
	}
	f.Complete(
		[]string{"model-repository", "output-model-repository-path", "checkpoint-directory", "export-path", "triton-install-path"},
		[]string{"config-file", "cost-curve", "perf-analyzer-path", "perf-output-path", "triton-server-path", "triton-output-path"},
		map[string]flags.Completion{
			"profile-models": modelNames, "bls-composing-models": modelNames, "ensemble-composing-models": modelNames,
			"cpu-only-composing-models": modelNames,
			"inference-output-fields":   flags.CompleteValues(settings.Columns()...),
			"gpu-output-fields":         flags.CompleteValues(settings.Columns()...),
			"server-output-fields":      flags.CompleteValues(settings.Columns()...),
			"output":                    flags.CompleteValues(strings.Fields(flags.FormNames(flags.Forms(), " "))...),
			"gpus":                      flags.CompleteValues("all", "[]"),
			"search-dimensions":         flags.CompleteValues(settings.Dimensions()...),
		})
	return f
}
