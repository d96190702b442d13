package perf

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/process"
)

// addCommands adds the subcommands of `triton perf`. A subcommand is the first word after
// perf: other words of the command line are arguments of options, such as -m report, or words
// that perf_analyzer ignores. A program that is called perf_analyzer has no subcommands.
func addCommands(cmd *cobra.Command, p process.Process, list ...*cobra.Command) {
	if !measures(p.Args, list) {
		cmd.AddCommand(list...)
	}
}

// measures reports whether a command line is that of a measurement.
func measures(args []string, list []*cobra.Command) bool {
	if len(args) == 0 {
		return false
	}
	switch strings.TrimSuffix(filepath.Base(args[0]), ".exe") {
	case "perf_analyzer", "perf_client":
		return true
	}
	if len(args) < 2 || args[1] != "perf" {
		return false // help and completion list the subcommands
	}
	return len(args) < 3 || !slices.ContainsFunc(list, func(c *cobra.Command) bool { return c.Name() == args[2] })
}
