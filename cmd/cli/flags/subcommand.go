package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/process"
)

// RequireSubcommand runs a command that does nothing itself: it prints help, or an
// error about an unknown subcommand.
func RequireSubcommand(cmd *cobra.Command, args []string) error {
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
	if near := Closest(args[0], names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	if path := below(cmd, args[0]); path != "" {
		hint = fmt.Sprintf("; did you mean %q?", path)
	}
	return process.UsageError("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
}

// below returns the path of the subcommand with this name, such as "repo lint", or "" if no command has one.
func below(cmd *cobra.Command, name string) string {
	for _, c := range cmd.Commands() {
		for _, sub := range c.Commands() {
			if sub.Name() == name && sub.IsAvailableCommand() {
				return sub.CommandPath()
			}
		}
	}
	return ""
}

// NoArguments is the check of a command that takes flags only.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return process.UsageError("unexpected argument %q", args[0])
	}
	return nil
}
