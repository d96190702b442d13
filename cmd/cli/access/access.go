// Package access is the command access: it makes, lists and revokes API keys, and checks the
// rules of who may do what before a server reads them.
package access

import (
	"fmt"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// NewCommand returns the command access.
func NewCommand(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Make API keys, and check who may do what",
		Args:  cobra.ArbitraryArgs,
		RunE:  flags.RequireSubcommand,
	}
	cmd.AddCommand(addCommand(p), listCommand(p), revokeCommand(p), checkCommand(p))
	return cmd
}

// subcommand makes a subcommand whose flags bind defines.
func subcommand(p process.Process, cmd *cobra.Command, args int, bind func(*flags.Set), run func(args []string) error) *cobra.Command {
	f := flags.New(p, "access", cmd.Flags())
	bind(f)
	cmd.Args = cobra.ArbitraryArgs
	f.FillBefore(cmd, nil)
	cmd.RunE = func(_ *cobra.Command, given []string) error {
		if len(given) != args {
			return process.UsageError("access %s takes %d arguments, %d were given", cmd.Name(), args, len(given))
		}
		return run(given)
	}
	return cmd
}

func bindFile(f *flags.Set, file *string) {
	f.StringVarP(file, "api-keys", "f", "", "file of API keys, as for serve; required")
}

func needFile(file string) error {
	if file == "" {
		return process.UsageError("--api-keys is missing: the file of API keys")
	}
	return nil
}

// failure returns an error that is not about the command line.
func failure(format string, args ...any) error {
	return &process.ExitError{Code: process.Failure, Err: fmt.Errorf(format, args...)}
}
