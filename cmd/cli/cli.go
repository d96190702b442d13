// Package cli is the root of the command line: it finds the command that a program's name and
// arguments mean, runs it and returns the exit code.
package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/access"
	"triton/cmd/cli/analyze"
	"triton/cmd/cli/analyze/profile"
	"triton/cmd/cli/doctor"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/perf"
	"triton/cmd/cli/process"
	"triton/cmd/cli/repo"
	"triton/cmd/cli/scaler"
	"triton/cmd/cli/serve"
	"triton/cmd/cli/top"
)

// Main runs the command line and returns the exit code.
func Main(p process.Process) int {
	if serve.IsIsolatedModel(p.Args) {
		return serve.RunIsolatedModel(p)
	}
	if programName(p.Args) == "serve" {
		var err error
		if p, err = serve.InContainer(p); err != nil {
			fmt.Fprintln(p.Stderr, err)
			return process.Failure
		}
	}
	root := Root(p)
	root.SetArgs(commandArgs(p.Args))
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	return p.ExitCode(root.Execute())
}

func programName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// commandArgs returns the arguments without the program's name, the command first. The
// program name "tritonserver" selects the command "serve", "perf_analyzer" selects "perf",
// "model-analyzer" selects the subcommands of "analyze" that it has;
// "tritonserver" as the first argument also selects "serve".
func commandArgs(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	rest := args[1:]
	switch programName(args) {
	case "tritonserver":
		return withCommand("serve", rest)
	case "perf_analyzer", "perf_client":
		return withCommand("perf", rest)
	case profile.ModelAnalyzer:
		if len(rest) > 0 && strings.HasPrefix(rest[0], cobra.ShellCompRequestCmd) {
			return withCommand(profile.ModelAnalyzer, rest)
		}
		return profile.ModelAnalyzerArgs(rest)
	}
	if len(rest) > 0 && rest[0] == "tritonserver" {
		return append([]string{"serve"}, rest[1:]...)
	}
	return rest
}

// withCommand puts a command in front of arguments, but behind the command with which a shell
// asks for completions.
func withCommand(command string, args []string) []string {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return append([]string{args[0], command}, args[1:]...)
	}
	return append([]string{command}, args...)
}

// Root returns the tree of commands, for a program that writes its manual pages.
func Root(p process.Process) *cobra.Command {
	root := &cobra.Command{
		Use:           "triton",
		Short:         "Serve, measure, size and check machine-learning models",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       p.Version,
		Args:          cobra.ArbitraryArgs,
		RunE:          flags.RequireSubcommand,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &process.ExitError{Code: process.Usage, Err: err}
	})
	root.AddCommand(serve.NewCommand(p), repo.NewCommand(p), perf.NewCommand(p), analyze.NewCommand(p), doctor.NewCommand(p), top.NewCommand(p), scaler.NewCommand(p), access.NewCommand(p), profile.NewModelAnalyzer(p))
	return root
}
