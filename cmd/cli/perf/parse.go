package perf

import (
	"fmt"
	"strconv"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

// parse reads the options of the command line. For options that are not on it, the values
// come from the environment or the settings file.
func parse(p process.Process, args []string) (*options, error) {
	o := newOptions()
	set := o.flags(p)
	typed, words, err := getopt(set, args)
	if err != nil {
		return nil, err
	}
	given, err := fromEnvironmentAndFile(set, typed)
	if err != nil {
		return nil, err
	}
	for _, text := range set.Ignored {
		o.warnOwn(text)
	}
	if len(words) > 0 {
		o.warnOwn(fmt.Sprintf("WARNING: %q belongs to no option and has no effect.", words))
	}
	// Settings come first, so that the command line wins where two options set one field.
	for _, a := range append(given, typed...) {
		if err := a.Flag.Value.Set(a.Text); err != nil {
			return nil, err
		}
		if o.help || o.version {
			return o, nil
		}
	}
	if err := o.checkMPI(p); err != nil {
		return nil, err
	}
	return o, o.finish()
}

// fromEnvironmentAndFile returns the values of the environment and of the settings file for options that
// the command line does not have. It marks those that it has as changed, which Settings leaves out.
func fromEnvironmentAndFile(set *flags.Set, typed []flags.Assignment) (given []flags.Assignment, err error) {
	file := ""
	for _, a := range typed {
		a.Flag.Changed = true
		if a.Flag.Name == "config" {
			file = a.Text
		}
	}
	all, err := set.Settings(file)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if !takesArgument(a.Flag) {
			on, err := strconv.ParseBool(a.Text)
			if err != nil {
				return nil, a.ValueError(err)
			}
			if !on {
				continue
			}
		}
		given = append(given, a)
	}
	return given, nil
}
