package perf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
)

// perf_analyzer splits its command line with getopt_long, and scripts rely on its rules.
// pflag's rules differ: it drops the = of -p=5, accepts an argument for options without one
// (--async=true) and has other error texts.

// syntaxError is an error of getopt itself, not about an argument.
type syntaxError struct{ error }

func (e syntaxError) Unwrap() error { return e.error }

// missingArgument is the error about a last option without its argument.
type missingArgument struct {
	flag *pflag.Flag
	text string
}

func (e missingArgument) Error() string { return e.text }

// getopt splits a command line into options, in their order, and other words, which
// perf_analyzer ignores.
func getopt(set *flags.Set, args []string) (parsed []flags.Assignment, words []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		next := func() (string, bool) {
			if i+1 == len(args) {
				return "", false
			}
			i++
			return args[i], true
		}
		switch {
		case arg == "--":
			return parsed, append(words, args[i+1:]...), nil
		case strings.HasPrefix(arg, "--"):
			o, err := longOption(set, arg[2:], next)
			if err != nil {
				return nil, nil, syntaxError{err}
			}
			parsed = append(parsed, o)
		case len(arg) > 1 && arg[0] == '-':
			if parsed, err = shortOptions(set, arg[1:], next, parsed); err != nil {
				return nil, nil, syntaxError{err}
			}
		default:
			words = append(words, arg)
		}
	}
	return parsed, words, nil
}

func longOption(set *flags.Set, arg string, next func() (string, bool)) (flags.Assignment, error) {
	name, text, inline := strings.Cut(arg, "=")
	f, err := findLong(set, name)
	if err != nil {
		return flags.Assignment{}, err
	}
	switch {
	case !takesArgument(f) && inline:
		return flags.Assignment{}, fmt.Errorf("option '--%s' doesn't allow an argument", f.Name)
	case takesArgument(f) && !inline:
		var ok bool
		if text, ok = next(); !ok {
			return flags.Assignment{}, missingArgument{f, "option '--" + f.Name + "' requires an argument"}
		}
	}
	return flags.Assignment{Flag: f, Text: text}, nil
}

// findLong returns the option of a name or of a unique prefix. Our own options cannot be
// abbreviated, so that all prefixes of perf_analyzer's options keep their meaning.
func findLong(set *flags.Set, name string) (*pflag.Flag, error) {
	found := slices.DeleteFunc(set.Matches(name), func(n string) bool { return n != name && set.IsOwn(n) })
	switch len(found) {
	case 1:
		return set.Lookup(found[0]), nil
	case 0:
		hint := ""
		if near := flags.Closest(name, set.Names()); near != "" {
			hint = ", did you mean '--" + near + "'?"
		}
		return nil, fmt.Errorf("unrecognized option '--%s'%s", name, hint)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "option '--%s' is ambiguous; possibilities:", name)
	for _, n := range found {
		b.WriteString(" '--" + n + "'")
	}
	return nil, errors.New(b.String())
}

func shortOptions(set *flags.Set, letters string, next func() (string, bool), parsed []flags.Assignment) ([]flags.Assignment, error) {
	for k := range len(letters) {
		f := set.ShorthandLookup(letters[k : k+1])
		if f == nil {
			return nil, fmt.Errorf("invalid option -- '%c'", letters[k])
		}
		if !takesArgument(f) {
			parsed = append(parsed, flags.Assignment{Flag: f})
			continue
		}
		text := letters[k+1:]
		if text == "" {
			var ok bool
			if text, ok = next(); !ok {
				return nil, missingArgument{f, "option requires an argument -- '" + f.Shorthand + "'"}
			}
		}
		return append(parsed, flags.Assignment{Flag: f, Text: text}), nil
	}
	return parsed, nil
}
