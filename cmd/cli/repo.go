package cli

import "github.com/spf13/cobra"

func newRepoCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Check and create model repositories",
		Args:  cobra.ArbitraryArgs,
		RunE:  onlyGroups,
	}
	cmd.AddCommand(newRepoLintCommand(w), newRepoScaffoldCommand(w), newRepoExampleCommand(w))
	return cmd
}
