package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// envPrefix starts the environment variables that stand for flags:
// --http-port is TRITON_HTTP_PORT.
const envPrefix = "TRITON_"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settle fills the flags that the command line does not set from the
// environment or else from a configuration file, which may be in any format
// that viper reads; an empty name is no file. Keys of the file are flag names,
// and one that is no flag is an error.
func settle(w World, set *pflag.FlagSet, file string) error {
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
		source, values := "environment variable "+envName(f.Name), []string{w.Getenv(envName(f.Name))}
		if values[0] == "" {
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
