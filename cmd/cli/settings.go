package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// envPrefix starts the environment variables that stand for flags.
const envPrefix = "TRITON_"

// envNames are the variables of a flag, the one that counts first: the flag
// --http-port of `triton serve` is TRITON_SERVE_HTTP_PORT, or TRITON_HTTP_PORT,
// which the flags of that name of all commands share.
func envNames(command, flag string) [2]string {
	upper := strings.NewReplacer("-", "_", " ", "_").Replace
	flag = strings.ToUpper(upper(flag))
	return [2]string{envPrefix + strings.ToUpper(upper(command)) + "_" + flag, envPrefix + flag}
}

// environ reads the variables of one command's flags.
type environ struct {
	world   World
	command string
	// ignored says once for each variable why it was not read.
	ignored []string
}

// lookup returns the variable that sets a flag and its value; both are empty
// when there is none.
func (e *environ) lookup(flag string) (name, value string) {
	for _, name := range envNames(e.command, flag) {
		value := e.world.Getenv(name)
		switch {
		case value == "":
		case isServiceLink(name, value):
			e.ignored = append(e.ignored, fmt.Sprintf("environment variable %s is ignored: %s is the address of a Kubernetes Service, not a setting", name, value))
		default:
			return name, value
		}
	}
	return "", ""
}

// isServiceLink reports whether a variable is one that Kubernetes sets in each
// container for a Service: of the Service triton-http these are TRITON_HTTP_PORT
// and others, which no flag is called. Their values are a protocol, an address
// and a port.
func isServiceLink(name, value string) bool {
	protocol, at, ok := strings.Cut(value, "://")
	if !ok || !strings.HasSuffix(name, "_PORT") {
		return false
	}
	_, err := netip.ParseAddrPort(at)
	return err == nil && (protocol == "tcp" || protocol == "udp" || protocol == "sctp")
}

// settle fills the flags that the command line does not set from the
// environment or else from a configuration file, which may be in any format
// that viper reads; an empty name is no file. Keys of the file are flag names,
// and one that is no flag is an error.
func settle(env *environ, set *pflag.FlagSet, file string) error {
	from := viper.New()
	if file != "" {
		from.SetConfigFile(file)
		if err := from.ReadInConfig(); err != nil {
			return fmt.Errorf("reading the configuration file: %w", err)
		}
		if err := known(from, set, file); err != nil {
			return err
		}
	}
	var failed error
	set.VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Changed || f.Name == "help" || f.Name == "config" {
			return
		}
		name, value := env.lookup(f.Name)
		source, values := "environment variable "+name, []string{value}
		if name == "" {
			source, values = file, nil
			if from.IsSet(f.Name) {
				values = from.GetStringSlice(f.Name)
				if s, ok := from.Get(f.Name).(string); ok {
					values = []string{s}
				}
			}
		}
		for _, v := range values {
			if err := set.Set(f.Name, v); err != nil {
				failed = fmt.Errorf("%s: --%s: %w", source, f.Name, cause(err))
				return
			}
		}
	})
	return failed
}

// settleCommand is settle for a command whose flags are cobra's. What is ignored
// is told on the error stream.
func settleCommand(w World, cmd *cobra.Command, file string) error {
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	env := &environ{world: w, command: command}
	err := settle(env, cmd.Flags(), file)
	for _, text := range env.ignored {
		fmt.Fprintln(w.Stderr, text)
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}

// cause is what is wrong with a flag's value, without pflag's own words.
func cause(err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return wrong.Unwrap()
	}
	return err
}

func known(from *viper.Viper, set *pflag.FlagSet, file string) error {
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, key := range from.AllKeys() {
		if set.Lookup(key) == nil {
			hint := ""
			if near := closest(key, names); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return fmt.Errorf("%s: unknown setting %q%s", file, key, hint)
		}
	}
	return nil
}
