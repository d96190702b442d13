// Flags are made of the options of package settings: their groups, abbreviations, help, completions and the texts
// of errors. Nothing here knows a single option.

package profile

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

// commonFlags is the flags of all subcommands that a file cannot set.
type commonFlags struct {
	Mode           *string
	Quiet, Verbose *bool
}

// optionFlags is the flags of one subcommand.
type optionFlags struct {
	*flags.Set
	cmd  *cobra.Command
	name string
}

// bindOptions adds flags for options to a command and takes over its help and its errors. Removed options
// have flags without help. Own names flags that Model Analyzer does not have.
func bindOptions(p process.Process, name string, cmd *cobra.Command, c commonFlags, options, removed []settings.Option, own ...string) *optionFlags {
	f := &optionFlags{Set: flags.New(p, name, cmd.Flags()), cmd: cmd, name: name}
	f.SortFlags = false
	f.Abbreviate()
	for _, title := range groupTitles(options) {
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

// groupTitles returns the titles of the groups in the order in which they first appear.
func groupTitles(options []settings.Option) []string {
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

func (f *optionFlags) add(o settings.Option) {
	flag := f.Add(o.Value, o.Flag, o.Short, o.Usage)
	if o.Value.Type() == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// common adds the flags that files cannot set.
func (f *optionFlags) common(c commonFlags) {
	options := settings.CommonOptions(c.Mode, c.Quiet, c.Verbose)
	for _, o := range options {
		f.add(o)
	}
}

// FillEnvironment sets the flags that the command line has not set from the environment.
func (f *optionFlags) FillEnvironment() error { return f.FillCommand("") }

// usage returns the part of the help text that lists the flags.
func (f *optionFlags) usage() string {
	var s strings.Builder
	for _, g := range f.Groups() {
		if g.Title == "" {
			continue
		}
		s.WriteString(g.Title + ":\n")
		for _, name := range g.Names {
			flag := f.Lookup(name)
			s.WriteString("  " + synopsis(flag))
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

// synopsis returns the names of a flag and the type of its value.
func synopsis(f *pflag.Flag) string {
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
func (f *optionFlags) explain(err error) error {
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
