package serve

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
)

// completeFlags tells shells what the arguments of the flags are.
func completeFlags(cmd *cobra.Command, o *options) {
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	flags.CompleteFolders(cmd, "model-repository", "model-store", "backend-directory")
	functions := map[string]flags.Completion{}
	o.table.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "boolean":
			functions[f.Name] = flags.CompleteValues("true", "false")
		case "integer", "float":
			functions[f.Name] = flags.CompleteNothing
		}
	})
	functions["log-format"] = flags.CompleteValues("default", "ISO8601", "json")
	functions["model-control-mode"] = flags.CompleteValues("none", "poll", "explicit", "auto")
	functions["rate-limit"] = flags.CompleteValues("off", "execution_count")
	functions["grpc-transport"] = flags.CompleteValues("grpc-go", "builtin")
	functions["grpc-infer-response-compression-level"] = flags.CompleteValues("none", "low", "medium", "high")
	functions["load-model"] = func(*cobra.Command, string) []string {
		return flags.RepositoryModels(o.Repositories)
	}
	flags.Complete(cmd, functions)
}
