// Package flags is how every command defines its flags: pflag's, with groups, names
// that may be cut short, and values from the environment and a configuration file.
package flags

import (
	"strings"

	"github.com/spf13/pflag"

	"triton/cmd/cli/process"
)

// Set is the flags of one command.
type Set struct {
	*pflag.FlagSet
	// Ignored says why an environment variable with the name of a flag was not read,
	// once for each; Settings fills it.
	Ignored []string

	process process.Process
	command string
	groups  []Group
	own     map[string]bool
	typed   map[string]bool
}

// Group is flags that help lists together. Help leaves out a group without title, and
// only the command line sets its flags.
type Group struct {
	Title string
	Names []string
}

// New returns the flags of a command, named without the program's name, around the
// ones that set has.
func New(p process.Process, command string, set *pflag.FlagSet) *Set {
	return &Set{FlagSet: set, process: p, command: command, own: map[string]bool{}, typed: map[string]bool{}}
}

// Group starts a group of flags.
func (s *Set) Group(title string) { s.groups = append(s.groups, Group{Title: title}) }

// Groups returns the groups in the order in which they were started.
func (s *Set) Groups() []Group { return s.groups }

// Add defines a flag in the newest group. Without a name only its letter is typed;
// pflag then knows it as "-" and the letter.
func (s *Set) Add(v pflag.Value, name, letter, usage string) *pflag.Flag {
	g := &s.groups[len(s.groups)-1]
	if name == "" {
		name = "-" + letter
	}
	if g.Title == "" || name[0] == '-' {
		s.MarkTyped(name)
	}
	g.Names = append(g.Names, name)
	return s.VarPF(v, name, letter, usage)
}

// Names returns the long names of all flags in groups.
func (s *Set) Names() []string {
	var all []string
	for _, g := range s.groups {
		for _, name := range g.Names {
			if !strings.HasPrefix(name, "-") {
				all = append(all, name)
			}
		}
	}
	return all
}

// MarkOwn marks flags that the command we replace does not have. They make none of
// its abbreviations ambiguous.
func (s *Set) MarkOwn(names ...string) {
	for _, n := range names {
		s.own[n] = true
	}
}

// IsOwn reports whether a flag was marked with MarkOwn.
func (s *Set) IsOwn(name string) bool { return s.own[name] }

// MarkTyped marks flags that only the command line sets, neither the environment
// nor the configuration file.
func (s *Set) MarkTyped(names ...string) {
	for _, n := range names {
		s.typed[n] = true
	}
}

// Abbreviate lets names be cut short while they are unambiguous.
func (s *Set) Abbreviate() {
	s.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if near := s.Matches(name); len(near) == 1 {
			name = near[0]
		}
		return pflag.NormalizedName(name)
	})
}

// Matches returns the flags that an abbreviation may mean: the one of that very
// name, else those of the command we replace, else our own.
func (s *Set) Matches(prefix string) []string {
	var theirs, own []string
	for _, n := range s.Names() {
		switch {
		case n == prefix:
			return []string{n}
		case !strings.HasPrefix(n, prefix):
		case s.own[n]:
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
