// Package repo is `triton repo`, which checks, formats, compares and creates model repositories.
package repo

import (
	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// NewCommand returns `triton repo`.
func NewCommand(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Check and create model repositories",
		Args:  cobra.ArbitraryArgs,
		RunE:  flags.RequireSubcommand,
	}
	cmd.AddCommand(newLintCommand(p), newFmtCommand(p), newRenderCommand(p), newDiffCommand(p), newStateCommand(p), newLSPCommand(p))
	cmd.AddCommand(newScaffoldCommand(p), newExampleCommand(p), newTrafficCommand(p))
	return cmd
}
