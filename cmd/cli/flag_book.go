package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// flagBook is a command's flags in groups, with Triton's rules for writing
// them: names may be cut short while they are unambiguous.
type flagBook struct {
	set    *pflag.FlagSet
	groups []*flagGroup
	hidden map[string]bool // of deprecated spellings, left out of the help
}

type flagGroup struct {
	title string
	names []string
}

func newFlagBook(set *pflag.FlagSet) *flagBook {
	set.SortFlags = false
	b := &flagBook{set: set, hidden: map[string]bool{}}
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(b.complete(name))
	})
	return b
}

func (b *flagBook) group(title string) { b.groups = append(b.groups, &flagGroup{title: title}) }

func (b *flagBook) names() []string {
	var all []string
	for _, g := range b.groups {
		all = append(all, g.names...)
	}
	return all
}

// complete is the one flag that starts with name; name itself when there is
// none or there are several.
func (b *flagBook) complete(name string) string {
	match := ""
	for _, n := range b.names() {
		switch {
		case n == name:
			return name
		case !strings.HasPrefix(n, name):
		case match != "":
			return name
		default:
			match = n
		}
	}
	if match == "" {
		return name
	}
	return match
}

func (b *flagBook) add(name, usage string, v pflag.Value) *pflag.Flag {
	g := b.groups[len(b.groups)-1]
	g.names = append(g.names, name)
	return b.set.VarPF(v, name, "", usage)
}

func (b *flagBook) boolean(to *bool, name, usage string) { b.add(name, usage, boolValue{to}) }

// toggle takes no value.
func (b *flagBook) toggle(to *bool, name, usage string) {
	b.add(name, usage, boolValue{to}).NoOptDefVal = "true"
}

func (b *flagBook) text(to *string, name, usage string) {
	b.add(name, usage, checkedValue{"string", to, func(string) error { return nil }})
}

// choice is a text that set understands.
func (b *flagBook) choice(text string, name, usage string, set func(string) error) {
	b.add(name, usage, checkedValue{"string", &text, set})
}

func (b *flagBook) integer(v intValue, name, usage string) { b.add(name, usage, v) }

func (b *flagBook) duration(to *time.Duration, unit time.Duration, name, usage string) {
	b.add(name, usage, timeValue{to: to, unit: unit})
}

func (b *flagBook) list(to *[]string, name, usage string, check func(string) error) {
	b.add(name, usage, listValue{to, check})
}

// unused is a flag that is read and has no effect here.
func (b *flagBook) unused(v pflag.Value, name, usage string) {
	b.add(name, usage+" Accepted; has no effect here.", v)
}

// later is a flag of Triton's that this server does not have yet. Values that
// ask for nothing are taken.
func (b *flagBook) later(name string, harmless ...string) {
	text := ""
	b.add(name, "Not supported yet.", checkedValue{"string", &text, func(s string) error {
		if slices.Contains(harmless, strings.ToLower(s)) {
			return nil
		}
		return errLater(name, s, harmless)
	}})
	b.hidden[name] = true
}

// usage is the help text.
func (b *flagBook) usage() string {
	var s strings.Builder
	for _, g := range b.groups {
		s.WriteString(g.title + ":\n")
		b.usageLater(&s, g)
		for _, name := range g.names {
			if b.hidden[name] {
				continue
			}
			f := b.set.Lookup(name)
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

// usageLater lists the flags of a group that are not supported yet.
func (b *flagBook) usageLater(s *strings.Builder, g *flagGroup) {
	var names []string
	for _, name := range g.names {
		if b.hidden[name] {
			names = append(names, "--"+name)
		}
	}
	for _, line := range wrap(strings.Join(names, " "), 76) {
		if line != "" {
			s.WriteString("  " + line + "\n")
		}
	}
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

// explain turns pflag's error into one that helps: an unknown flag gets the
// nearest known one, a wrong value Triton's words.
func (b *flagBook) explain(err error) error {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if near := b.startingWith(name); len(near) > 1 {
			return fmt.Errorf("--%s is ambiguous: it may be %s", name, strings.Join(near, ", "))
		}
		if near := closest(name, b.names()); near != "" {
			return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)
		}
		return fmt.Errorf("unknown flag --%s", name)
	case errors.As(err, &wrong):
		return badOption(wrong.GetFlag().Name, wrong.Unwrap().Error())
	}
	return err
}

func badOption(name, detail string) error {
	return said("Bad option: \"--%s\".\n%s", name, detail)
}

func (b *flagBook) startingWith(prefix string) []string {
	var all []string
	for _, n := range b.names() {
		if strings.HasPrefix(n, prefix) {
			all = append(all, "--"+n)
		}
	}
	return all
}
