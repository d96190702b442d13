package serve

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triton/cmd/cli/complete"
)

// completeFlags tells shells what the arguments of the flags are.
func completeFlags(cmd *cobra.Command, o *options) {
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	complete.Folders(cmd, "model-repository", "model-store", "backend-directory")
	functions := map[string]complete.Func{}
	o.table.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "boolean":
			functions[f.Name] = complete.Values("true", "false")
		case "integer", "float":
			functions[f.Name] = complete.Nothing
		}
	})
	functions["log-format"] = complete.Values("default", "ISO8601", "json")
	functions["model-control-mode"] = complete.Values("none", "poll", "explicit", "auto")
	functions["rate-limit"] = complete.Values("off", "execution_count")
	functions["grpc-infer-response-compression-level"] = complete.Values("none", "low", "medium", "high")
	functions["load-model"] = func(*cobra.Command, string) []string {
		return complete.RepositoryModels(o.Repositories)
	}
	complete.Flags(cmd, functions)
}
