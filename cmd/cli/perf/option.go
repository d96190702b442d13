package perf

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
)

// table defines perf_analyzer's options. An option has a long name, a letter, or both.
type table struct{ *flags.Set }

// option is the value of one option. set is called with the argument of each occurrence.
type option struct {
	argument string // name of the argument in the help text; empty: no argument
	set      func(text string) error
}

var _ pflag.Value = option{}

func (o option) String() string        { return "" }
func (o option) Type() string          { return o.argument }
func (o option) Set(text string) error { return o.set(text) }

func takesArgument(f *pflag.Flag) bool { return f.NoOptDefVal == "" }

func (t table) value(name, letter, argument, usage string, set func(text string) error) {
	t.Add(option{argument, set}, name, letter, usage)
}

func (t table) toggle(name, letter, usage string, set func()) {
	f := t.Add(option{"", func(string) error { set(); return nil }}, name, letter, usage)
	f.NoOptDefVal = "true"
}

func (t table) text(to *string, name, letter, argument, usage string) {
	t.value(name, letter, argument, usage, func(text string) error {
		*to = text
		return nil
	})
}

// integer adds an option whose argument must be at least low. The error about a smaller
// argument ends with want, such as "> 0.".
func (t table) integer(to *int, low int, want, name, letter, argument, usage string) {
	t.value(name, letter, argument, usage, func(text string) (err error) {
		*to, err = atLeast(low, want, name, letter, text)
		return err
	})
}

// addDuration adds an option whose argument is a time of at least low.
func (o *options) addDuration(t table, to *time.Duration, low time.Duration, want, name, letter, usage string) {
	t.value(name, letter, "<msec|time>", usage, func(text string) (err error) {
		*to, err = o.parseTime(low, want, name, letter, text)
		return err
	})
}

// parseTime reads a number of milliseconds, as perf_analyzer does, or a time with a unit.
func (o *options) parseTime(low time.Duration, want, name, letter, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		n, err := atLeast(int(low/time.Millisecond), want, name, letter, text)
		return time.Duration(n) * time.Millisecond, err
	}
	if d < low {
		return 0, tooSmall(name, letter, want)
	}
	if n, err := integer(typedName(name), text); err != nil {
		o.warnOwn(fmt.Sprintf("WARNING: %s %s is read as %s. perf_analyzer does not read it.", typedName(name), text, d))
	} else if time.Duration(n)*time.Millisecond != d {
		o.warnOwn(fmt.Sprintf("WARNING: %s %s is read as %s. perf_analyzer reads %d msec.", typedName(name), text, d, n))
	}
	return d, nil
}

// typedName returns an option as the user types it.
func typedName(name string) string {
	if strings.HasPrefix(name, "-") { // only a letter
		return name
	}
	return "--" + name
}

func atLeast(low int, want, name, letter, text string) (int, error) {
	n, err := integer(typedName(name), text)
	if err == nil && n < low {
		err = tooSmall(name, letter, want)
	}
	return n, err
}

func tooSmall(name, letter, want string) error {
	label := typedName(name)
	if letter != "" {
		label += " (-" + letter + ")"
	}
	return fmt.Errorf("Failed to parse %s. The value must be %s", label, want)
}

// integer parses the number at the start of a text, like C++'s stoi.
func integer(option, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(leading(text, "0123456789"), "+"))
	if err != nil {
		return 0, parseError(option, text)
	}
	return n, nil
}

// leading skips blanks and returns the longest prefix of the rest that is an optional sign
// and characters of accepts, like C++'s stoi and stod.
func leading(text string, accepts string) string {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (strings.IndexByte(accepts, text[end]) >= 0 || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	return text[:end]
}

func parseError(option, text string) error {
	return fmt.Errorf("Failed to parse %s. Invalid value provided: %s", option, text)
}
