package profile

import (
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// ModelAnalyzer is the name of the program and of its hidden command.
const ModelAnalyzer = "model-analyzer"

// NewModelAnalyzer returns the hidden command `triton model-analyzer`.
func NewModelAnalyzer(p process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:    ModelAnalyzer,
		Short:  "Model Analyzer's command line",
		Hidden: true,
		Long: `Profile models and report the best configurations, with the command line of NVIDIA's Model
Analyzer. --mode (-m) online or offline comes before the subcommand.`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              flags.RequireSubcommand,
	}
	cmd.AddCommand(NewCommand(p), NewDeprecated(p), NewReport(p))
	return cmd
}

// ModelAnalyzerArgs returns the arguments of the program model-analyzer with the mode behind the subcommand, where
// its flag has no letter: -m names the model repository there.
func ModelAnalyzerArgs(args []string) []string {
	mode := []string{}
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		switch {
		case name == "-m" || len(name) > len("--m") && strings.HasPrefix("--mode", name):
			if !hasValue && i+1 < len(args) {
				i++
				value, hasValue = args[i], true
			}
			mode = []string{"--mode"}
			if hasValue {
				mode = []string{"--mode=" + value}
			}
		case strings.HasPrefix(name, "-m"):
			mode = []string{"--mode=" + strings.TrimPrefix(args[i], "-m")}
		case args[i] == "--version":
			return args[i : i+1]
		case strings.HasPrefix(name, "-"):
			return append(append([]string{ModelAnalyzer}, args[i:]...), mode...)
		default:
			return append(append([]string{ModelAnalyzer, args[i]}, mode...), args[i+1:]...)
		}
	}
	return []string{ModelAnalyzer}
}
