package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// flagBook is a command's flags in groups, with Triton's rules for writing
// them: names may be cut short while they are unambiguous.
type flagBook struct {
	set    *pflag.FlagSet
	groups []*flagGroup
	own    map[string]bool   // are not Triton's: they make none of its short forms ambiguous
	why    map[string]string // a flag has no effect
}

type flagGroup struct {
	title string
	names []string
}

func newFlagBook(set *pflag.FlagSet) *flagBook {
	set.SortFlags = false
	b := &flagBook{set: set, own: map[string]bool{}, why: map[string]string{}}
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
	near := b.startingWith(name)
	if len(near) == 1 || len(near) > 0 && near[0] == name {
		return near[0]
	}
	return name
}

// startingWith are the flags that a short form may mean: the one of that very
// name, else those of Triton's that start with it, else our own.
func (b *flagBook) startingWith(prefix string) []string {
	var theirs, own []string
	for _, n := range b.names() {
		switch {
		case n == prefix:
			return []string{n}
		case !strings.HasPrefix(n, prefix):
		case b.own[n]:
			own = append(own, n)
		default:
			theirs = append(theirs, n)
		}
	}
	if len(theirs) == 0 {
		return own
	}
	return theirs
}

// ours says that flags are not Triton's.
func (b *flagBook) ours(names ...string) {
	for _, n := range names {
		b.own[n] = true
	}
}

// given says whether a flag was set, wherever.
func (b *flagBook) given(name string) bool { return b.set.Lookup(name).Changed }

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

// seconds is a time that is not negative.
func (b *flagBook) seconds(to *time.Duration, name, usage string) {
	b.duration(to, time.Second, name, usage)
}

func (b *flagBook) list(to *[]string, name, usage string, check func(string) error) {
	b.add(name, usage, listValue{to, check})
}

// unused is a flag that is checked and has no effect here, and why.
func (b *flagBook) unused(v pflag.Value, name, usage, why string) {
	b.add(name, usage+" Accepted; has no effect: "+why+".", v)
	b.why[name] = why
}

// remark says that a flag as given has no effect.
func (b *flagBook) remark(name, why string) { b.why[name] = why }

// remarks are one line for each flag that was given and has no effect.
func (b *flagBook) remarks() []string {
	var all []string
	for _, name := range b.names() {
		if why := b.why[name]; why != "" && b.given(name) {
			all = append(all, "Warning: '--"+name+"' has no effect: "+why+".")
		}
	}
	return all
}

// usage is the help text.
func (b *flagBook) usage() string {
	var s strings.Builder
	for _, g := range b.groups {
		s.WriteString(g.title + ":\n")
		for _, name := range g.names {
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
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &bare):
		return fmt.Errorf("option '--%s' requires an argument", bare.GetFlag().Name)
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if near := b.startingWith(name); len(near) > 1 {
			return fmt.Errorf("--%s is ambiguous: it may be --%s", name, strings.Join(near, ", --"))
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
