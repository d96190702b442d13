package cli

import "github.com/spf13/cobra"

func newRepoCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Check and create model repositories",
	}
	cmd.AddCommand(newRepoLintCommand(w), newRepoScaffoldCommand(w), newRepoExampleCommand(w))
	return cmd
}
