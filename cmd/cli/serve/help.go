package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
)

const helpText = `Serve the models of one or several model repositories over HTTP and gRPC.
The flags are tritonserver's. A flag's name may be abbreviated to any
unambiguous prefix; its value follows after = or a blank.

`

// usage returns the part of the help text that lists the flags.
func (t *table) usage() string {
	var s strings.Builder
	for _, g := range t.Groups() {
		s.WriteString(g.Title + ":\n")
		for _, name := range g.Names {
			f := t.Lookup(name)
			s.WriteString("  --" + name)
			if f.NoOptDefVal == "" {
				s.WriteString(" <" + f.Value.Type() + ">")
			}
			if d := f.DefValue; d != "" && f.NoOptDefVal == "" {
				fmt.Fprintf(&s, " (default %s)", d)
			}
			s.WriteString("\n")
			for _, line := range wrap(f.Usage, 72) {
				s.WriteString("      " + line + "\n")
			}
		}
		s.WriteString("\n")
	}
	return s.String()
}

// wrap breaks a text into lines of at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// explain rewords pflag's errors: those about unknown flags name the nearest flag, those
// about values have Triton's texts.
func (t *table) explain(err error) error {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &bare):
		return fmt.Errorf("option '--%s' requires an argument", bare.GetFlag().Name)
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if near := t.Matches(name); len(near) > 1 {
			return fmt.Errorf("--%s is ambiguous: it may be --%s", name, strings.Join(near, ", --"))
		}
		if near := flags.Closest(name, t.Names()); near != "" {
			return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)
		}
		return fmt.Errorf("unknown flag --%s", name)
	case errors.As(err, &wrong):
		return badOption(wrong.GetFlag().Name, wrong.Unwrap().Error())
	}
	return err
}

func badOption(name, detail string) error {
	return tritonErrorf("Bad option: \"--%s\".\n%s", name, detail)
}
