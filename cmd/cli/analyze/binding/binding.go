// Package binding makes flags of the options of package settings: their groups, abbreviations, help,
// completions and the texts of errors. It knows no single option.
package binding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triton/analyzer/settings"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// Common is the flags of all subcommands that a file cannot set.
type Common struct {
	Mode           *string
	Quiet, Verbose *bool
}

// Flags is the flags of one subcommand.
type Flags struct {
	*flags.Set
	cmd  *cobra.Command
	name string
}

// Bind adds flags for options to a command and takes over its help and its errors. Removed options
// have flags without help. Own names flags that Model Analyzer does not have.
func Bind(p process.Process, name string, cmd *cobra.Command, c Common, options, removed []settings.Option, own ...string) *Flags {
	f := &Flags{Set: flags.New(p, name, cmd.Flags()), cmd: cmd, name: name}
	f.SortFlags = false
	f.Abbreviate()
	for _, title := range titles(options) {
		f.Group(title)
		for _, o := range options {
			if o.Group == title && o.Flag != "" {
				f.add(o)
			}
		}
		if title == "General" {
			f.common(c)
		}
	}
	f.Group("")
	for _, o := range removed {
		f.add(o)
		f.MarkOwn(o.Flag)
	}
	f.MarkOwn(own...)
	f.MarkOwn("mode")
	f.MarkCommandLineOnly("mode", "quiet", "verbose")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return process.UsageError("unrecognized arguments: %s", strings.Join(args, " "))
		}
		return nil
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &process.ExitError{Code: process.Usage, Err: f.explain(err)}
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n\n%s", cmd.Long, cmd.UseLine(), cmd.Example, f.usage())
	})
	return f
}

// titles returns the titles of the groups in the order in which they first appear.
func titles(options []settings.Option) []string {
	var all []string
	seen := map[string]bool{}
	for _, o := range options {
		if !seen[o.Group] {
			seen[o.Group] = true
			all = append(all, o.Group)
		}
	}
	return all
}

func (f *Flags) add(o settings.Option) {
	flag := f.Add(o.Value, o.Flag, o.Short, o.Usage)
	if o.Value.Type() == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// common adds the flags that files cannot set.
func (f *Flags) common(c Common) {
	options := settings.CommonOptions(c.Mode, c.Quiet, c.Verbose)
	for _, o := range options {
		f.add(o)
	}
}

// FillEnvironment sets the flags that the command line has not set from the environment.
func (f *Flags) FillEnvironment() error { return f.FillCommand("") }

// usage returns the part of the help text that lists the flags.
func (f *Flags) usage() string {
	var s strings.Builder
	for _, g := range f.Groups() {
		if g.Title == "" {
			continue
		}
		s.WriteString(g.Title + ":\n")
		for _, name := range g.Names {
			flag := f.Lookup(name)
			s.WriteString("  " + Synopsis(flag))
			if d := flag.DefValue; d != "" && flag.NoOptDefVal == "" {
				fmt.Fprintf(&s, " (default %s)", d)
			}
			s.WriteString("\n      " + flag.Usage + "\n")
		}
		s.WriteString("\n")
	}
	s.WriteString("A long flag may be abbreviated to any unique prefix. Flags may also come from the environment,\n" +
		"as TRITON_" + strings.ToUpper(strings.ReplaceAll(f.name, " ", "_")) + "_EXPORT_PATH for --export-path.\n")
	return s.String()
}

// Synopsis returns the names of a flag and the type of its value.
func Synopsis(f *pflag.Flag) string {
	s := "--" + f.Name
	if f.Shorthand != "" {
		s = "-" + f.Shorthand + ", " + s
	}
	if f.NoOptDefVal == "" {
		s += " <" + f.Value.Type() + ">"
	}
	return s
}

// explain rewords pflag's errors as Model Analyzer words them, and names the nearest flag.
func (f *Flags) explain(err error) error {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &bare):
		return fmt.Errorf("argument %s: expected one argument", argument(bare.GetFlag()))
	case errors.As(err, &wrong):
		return fmt.Errorf("argument %s: %w", argument(wrong.GetFlag()), wrong.Unwrap())
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return fmt.Errorf("unrecognized arguments: -%s", name)
		}
		if near := f.Matches(name); len(near) > 1 {
			return fmt.Errorf("ambiguous option: --%s could match --%s", name, strings.Join(near, ", --"))
		}
		if near := flags.Closest(strings.ReplaceAll(name, "_", "-"), f.Names()); near != "" {
			return fmt.Errorf("unrecognized arguments: --%s; did you mean --%s?", name, near)
		}
		return fmt.Errorf("unrecognized arguments: --%s", name)
	}
	return err
}

// argument returns the names of a flag as Model Analyzer's errors list them.
func argument(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + "/--" + f.Name
}
