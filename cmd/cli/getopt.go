package cli

import (
	"errors"
	"fmt"
	"strings"
)

// perf_analyzer parses its command line with getopt_long, and scripts rely on
// what pflag does not do: any unique prefix of a long option, `-avp5000`, and
// options between and after other arguments.

// option is one entry of a getopt table.
type option struct {
	long  string
	short byte   // 0: none
	value string // what the value is, for help; empty: takes none
	group string
	help  string
	later bool // known, but not supported yet
	exact bool // no abbreviation, so that none of the original's is taken
}

func (o *option) name() string {
	if o.long != "" {
		return "--" + o.long
	}
	return "-" + string(o.short)
}

// syntaxError is what getopt itself refuses.
type syntaxError struct{ error }

// occurrence is one option as it was met.
type occurrence struct {
	*option
	text string
}

// getopt splits arguments into options and the rest.
func getopt(table []option, args []string) (met []occurrence, rest []string, err error) {
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
			return met, append(rest, args[i+1:]...), nil
		case strings.HasPrefix(arg, "--"):
			o, err := longOption(table, arg[2:], next)
			if err != nil {
				return nil, nil, syntaxError{err}
			}
			met = append(met, o)
		case len(arg) > 1 && arg[0] == '-':
			if met, err = shortOptions(table, arg[1:], next, met); err != nil {
				return nil, nil, syntaxError{err}
			}
		default:
			rest = append(rest, arg)
		}
	}
	return met, rest, nil
}

func longOption(table []option, arg string, next func() (string, bool)) (occurrence, error) {
	name, text, inline := strings.Cut(arg, "=")
	o, err := findLong(table, name)
	if err != nil {
		return occurrence{}, err
	}
	switch {
	case o.value == "" && inline:
		return occurrence{}, fmt.Errorf("option '--%s' doesn't allow an argument", o.long)
	case o.value != "" && !inline:
		var ok bool
		if text, ok = next(); !ok {
			return occurrence{}, fmt.Errorf("option '--%s' requires an argument", o.long)
		}
	}
	return occurrence{o, text}, nil
}

func findLong(table []option, name string) (*option, error) {
	var found []*option
	for i := range table {
		switch o := &table[i]; {
		case o.long == "":
		case o.long == name:
			return o, nil
		case !o.exact && strings.HasPrefix(o.long, name):
			found = append(found, o)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		hint := ""
		if near := closest(name, longNames(table)); near != "" {
			hint = ", did you mean '--" + near + "'?"
		}
		return nil, fmt.Errorf("unrecognized option '--%s'%s", name, hint)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "option '--%s' is ambiguous; possibilities:", name)
	for _, o := range found {
		b.WriteString(" '--" + o.long + "'")
	}
	return nil, errors.New(b.String())
}

func shortOptions(table []option, letters string, next func() (string, bool), met []occurrence) ([]occurrence, error) {
	for k := 0; k < len(letters); k++ {
		o := findShort(table, letters[k])
		if o == nil {
			return nil, fmt.Errorf("invalid option -- '%c'", letters[k])
		}
		if o.value == "" {
			met = append(met, occurrence{o, ""})
			continue
		}
		text := letters[k+1:]
		if text == "" {
			var ok bool
			if text, ok = next(); !ok {
				return nil, fmt.Errorf("option requires an argument -- '%c'", o.short)
			}
		}
		return append(met, occurrence{o, text}), nil
	}
	return met, nil
}

func findShort(table []option, letter byte) *option {
	for i := range table {
		if table[i].short == letter {
			return &table[i]
		}
	}
	return nil
}

func longNames(table []option) []string {
	var names []string
	for i := range table {
		if table[i].long != "" {
			names = append(names, table[i].long)
		}
	}
	return names
}
