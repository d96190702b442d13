package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes shared by the commands; a command may define more.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// exitError carries the exit code of an error. An empty err exits silently: the
// command has said what there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError marks a wrong command line.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// Main runs the command line and returns the exit code.
func Main(w World) int {
	if programName(w.Args) == "serve" {
		args, environ, err := newContainer(w).arguments()
		if err != nil {
			fmt.Fprintln(w.Stderr, err)
			return exitFailure
		}
		w.Args = append(append([]string{"tritonserver"}, args...), w.Args[1:]...)
		w.Environ = append(w.Environ[:len(w.Environ):len(w.Environ)], environ...)
	}
	root := newRoot(w)
	root.SetArgs(commandArgs(w.Args))
	root.SetIn(w.Stdin)
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	code := exitFailure
	var ee *exitError
	if errors.As(err, &ee) {
		code = ee.code
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintln(w.Stderr, "triton: "+msg)
	}
	return code
}

func programName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// commandArgs lets the program stand in for Triton's: called as "tritonserver",
// or with that as the first argument, it is "serve"; as "perf_analyzer" it is
// "perf". Called as "serve" it is the program of a SageMaker container.
func commandArgs(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	rest := args[1:]
	switch programName(args) {
	case "tritonserver":
		return append([]string{"serve"}, rest...)
	case "perf_analyzer", "perf_client":
		return append([]string{"perf"}, rest...)
	}
	if len(rest) > 0 && rest[0] == "tritonserver" {
		return append([]string{"serve"}, rest[1:]...)
	}
	return rest
}

func newRoot(w World) *cobra.Command {
	root := &cobra.Command{
		Use:           "triton",
		Short:         "Serve, measure, size and check machine-learning models",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       w.Version,
		Args:          cobra.ArbitraryArgs,
		RunE:          onlyGroups,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exitError{exitUsage, err}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServeCommand(w))
	root.AddCommand(newRepoCommand(w))
	root.AddCommand(newPerfCommand(w))
	root.AddCommand(newAnalyzeCommand(w))
	return root
}

// onlyGroups runs a command that is nothing without one of its subcommands.
func onlyGroups(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := "; its commands: " + strings.Join(names, ", ")
	if near := closest(args[0], names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return usageError("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
}
