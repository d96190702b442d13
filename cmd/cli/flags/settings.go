package flags

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// Assignment is one value of a flag.
type Assignment struct {
	Flag *pflag.Flag
	Text string
	// Source is the environment variable or the file that the value comes from; empty
	// for the command line.
	Source string
}

// ValueError adds the source and the flag to an error about the value of the assignment.
func (a Assignment) ValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = invalid.Unwrap() // without the text that pflag adds
	}
	return fmt.Errorf("%s: --%s: %w", a.Source, a.Flag.Name, err)
}

// Settings returns the values of the flags that are not set yet, from the environment or
// else from the configuration file. The file may be in any format that viper reads; an
// empty name means no file. The keys of the file are full flag names; any other key, even
// an abbreviation, is an error.
func (s *Set) Settings(file string) ([]Assignment, error) {
	from := viper.New()
	if file != "" {
		from.SetConfigFile(file)
		if err := from.ReadInConfig(); err != nil {
			return nil, fmt.Errorf("reading the configuration file: %w", err)
		}
		if err := s.checkKeys(from, file); err != nil {
			return nil, err
		}
	}
	var all []Assignment
	s.VisitAll(func(f *pflag.Flag) {
		if f.Changed || !s.isSetting(f.Name) {
			return
		}
		name, value := s.Variable(f.Name)
		source, values := "environment variable "+name, []string{value}
		if name == "" {
			source, values = file, nil
			if from.IsSet(f.Name) {
				values = from.GetStringSlice(f.Name)
				if text, ok := from.Get(f.Name).(string); ok {
					values = []string{text}
				}
			}
		}
		for _, v := range values {
			all = append(all, Assignment{f, v, source})
		}
	})
	return all, nil
}

// isSetting reports whether the environment and the configuration file may set a flag.
func (s *Set) isSetting(name string) bool {
	return name != "help" && name != "config" && !s.commandLineOnly[name]
}

// checkKeys returns an error about a key that is not the full name of a flag.
func (s *Set) checkKeys(from *viper.Viper, file string) error {
	var names []string
	s.VisitAll(func(f *pflag.Flag) {
		if s.isSetting(f.Name) {
			names = append(names, f.Name)
		}
	})
	for _, key := range from.AllKeys() {
		if slices.Contains(names, key) {
			continue
		}
		near := Closest(key, names)
		if full := s.Matches(key); len(full) == 1 && s.isSetting(full[0]) {
			near = full[0] // the key is an abbreviation
		}
		hint := ""
		if near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return fmt.Errorf("%s: unknown setting %q%s", file, key, hint)
	}
	return nil
}

// Fill sets the flags that the command line has not set, from the environment or else from
// the configuration file.
func (s *Set) Fill(file string) error {
	all, err := s.Settings(file)
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := s.Set(a.Flag.Name, a.Text); err != nil {
			return a.ValueError(err)
		}
	}
	return nil
}

// FillCommand calls Fill and prints Ignored. Its error has the exit code process.Usage.
func (s *Set) FillCommand(file string) error {
	err := s.Fill(file)
	for _, text := range s.Ignored {
		_ = ui.WriteLine(s.process.Stderr, text) // nothing can be said about a stream that takes no text
	}
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	return nil
}

// FillBefore makes a command call FillCommand before it runs, with the file that is named then; nil: there is none.
func (s *Set) FillBefore(cmd *cobra.Command, file *string) {
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if file == nil {
			return s.FillCommand("")
		}
		return s.FillCommand(*file)
	}
}

// variables returns the environment variables of a flag in the order of precedence: for
// --http-port of `triton serve` TRITON_SERVE_HTTP_PORT, then TRITON_HTTP_PORT, which is
// read by all commands with a flag of that name.
func variables(command, flag string) [2]string {
	upper := func(s string) string { return strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(s)) }
	return [2]string{"TRITON_" + upper(command) + "_" + upper(flag), "TRITON_" + upper(flag)}
}

// Variable returns the environment variable that sets a flag and its value; both
// are empty when there is none.
func (s *Set) Variable(flag string) (name, value string) {
	for _, name := range variables(s.command, flag) {
		value := s.process.Getenv(name)
		switch {
		case value == "":
		case isServiceLink(name, value):
			s.Ignored = append(s.Ignored, fmt.Sprintf("environment variable %s is ignored: %s is the address of a Kubernetes Service, not a setting", name, value))
		default:
			return name, value
		}
	}
	return "", ""
}

// isServiceLink reports whether a variable looks like one that Kubernetes sets in each
// container for a Service: for the Service triton-http it sets TRITON_HTTP_PORT to a
// protocol, an address and a port. The other variables of a Service have names that no flag
// has.
func isServiceLink(name, value string) bool {
	protocol, at, ok := strings.Cut(value, "://")
	if !ok || !strings.HasSuffix(name, "_PORT") {
		return false
	}
	_, err := netip.ParseAddrPort(at)
	return err == nil && (protocol == "tcp" || protocol == "udp" || protocol == "sctp")
}
