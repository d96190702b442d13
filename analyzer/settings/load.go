package settings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

// Host is what options depend on of the machine.
type Host struct {
	CPUs int
	// LookPath finds a program as exec.LookPath does.
	LookPath func(name string) (string, error)
}

// loader reads a file into options.
type loader struct {
	options []Option
	set     map[string]bool // filled: keys that the user set
}

// Both subcommands accept the options of both, so that one file serves them.
func knownKeys() map[string]bool {
	all := profileKeys()
	maps.Copy(all, reportKeys())
	return all
}

// readFile applies the file to the options that the command line has not set. The command line's values
// are in the options already.
func (l *loader) readFile(file string, onCommandLine func(flag string) bool) error {
	for _, o := range l.options {
		if o.Flag != "" && onCommandLine(o.Flag) {
			l.set[o.Key] = true
		}
	}
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the configuration file: %w", err)
	}
	return l.apply(file, text)
}

func (l *loader) apply(file string, text []byte) error {
	r, members, err := parse(file, text)
	if err != nil {
		return err
	}
	byKey := map[string]Option{}
	for _, o := range l.options {
		byKey[o.Key] = o
	}
	unknown := 0
	for _, m := range members {
		o, ours := byKey[m.key]
		switch {
		case !knownKeys()[m.key]:
			unknown++
			r.at(m.line, "%s is not a valid yaml argument. Please be sure to use underscores and check spelling.%s", m.key, hint(m.key))
		case !ours || isNull(m.node) || m.key == "config_file":
		case l.set[m.key] && m.key == "profile_models":
			r.at(m.line, "The profile model option is specified on both the CLI (--profile-models) and in the YAML config file. "+
				"Please remove the option from one of the locations and try again")
		case l.set[m.key]:
		default:
			l.set[m.key] = true
			o.Value.decode(m)
		}
	}
	if unknown > 0 {
		r.problems = append(r.problems, errors.New("The Yaml configuration file is incorrect. "+ //nolint:staticcheck // Model Analyzer's sentence
			"Please check the logged errors for the specific options that are causing the issue."))
	}
	return errors.Join(r.problems...)
}

// hint returns what to write instead of an unknown key.
func hint(key string) string {
	for _, r := range removed {
		if r.key() == key {
			return " " + r.note
		}
	}
	return misplaced(key, "", slices.Sorted(maps.Keys(knownKeys())))
}

// Finish reads the configuration file, checks all values and their combinations, and sets those that
// depend on others. onCommandLine reports whether the command line has set a flag. The error joins
// all mistakes.
func (p *Profile) Finish(host Host, onCommandLine func(flag string) bool) error {
	l := loader{options: p.Options(), set: p.set}
	if err := l.readFile(p.ConfigFile, onCommandLine); err != nil {
		return err
	}
	err := p.check(host)
	p.complete(host)
	return errors.Join(err, p.checkComplete())
}

// Finish reads the configuration file, checks all values and sets those that depend on others.
func (r *Report) Finish(onCommandLine func(flag string) bool) error {
	l := loader{options: r.Options(), set: r.set}
	if err := l.readFile(r.ConfigFile, onCommandLine); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if !r.set["plots"] {
		r.Plots = DetailPlots(r.Mode)
	}
	for i := range r.Configs {
		if len(r.Configs[i].Plots) == 0 {
			r.Configs[i].Plots = r.Plots
		}
	}
	return nil
}
