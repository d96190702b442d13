// Package serve is `triton serve`: tritonserver's command line around the server.
package serve

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"triton/cmd/cli/process"
)

// meant returns what was probably meant by an argument that is no flag: a folder with models.
func meant(arg string) string {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		return "; did you mean --model-repository=" + arg + "?"
	}
	return ""
}

// NewCommand returns `triton serve`.
func NewCommand(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --model-repository DIR [flags]",
		Short: "Serve models over HTTP and gRPC",
		Example: `  triton serve --model-repository models/
  triton serve --model-repository models/ --http-port 9000 --exit-on-error=false`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(tritonErrorf("Unexpected argument: %s%s", args[0], meant(args[0])))
			}
			return nil
		},
	}
	o := newOptions(p, cmd.Flags())
	completeFlags(cmd, o)
	t := o.table
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, file := t.Variable("config")
		err := t.Fill(cmp.Or(o.config, file))
		for _, text := range t.Ignored {
			o.warn(text)
		}
		if err != nil {
			return usageError(t.explain(err))
		}
		return run(cmd.Context(), p, o)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(t.explain(err)) })
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%sUsage:\n  %s\n\nExamples:\n%s\n\n%s", helpText, cmd.UseLine(), cmd.Example, t.usage())
	})
	return cmd
}

// usageError returns the error of a wrong command line. Its exit code is 1, as in Triton.
func usageError(err error) error { return &process.ExitError{Code: process.Failure, Err: err} }
