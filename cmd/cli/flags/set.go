// Package flags extends pflag for all commands: groups of flags, abbreviated names, values from
// the environment and a configuration file, suggestions for shells, and the flags that several
// commands have: those of a server and of results.
package flags

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"triton/cmd/cli/process"
)

// Set is the flags of one command.
type Set struct {
	*pflag.FlagSet
	// Ignored has one line for each environment variable with the name of a flag that was
	// ignored, with the reason. Settings fills it.
	Ignored []string

	process         process.Process
	command         string
	groups          []Group
	own             map[string]bool
	commandLineOnly map[string]bool
}

// Group is a list of flags under one title of the help text. A group without a title is
// left out of the help text, and only the command line sets its flags.
type Group struct {
	Title string
	Names []string
}

// New returns the flags of a command over set. The command is the full name of the command
// without the program's name.
func New(p process.Process, command string, set *pflag.FlagSet) *Set {
	return &Set{FlagSet: set, process: p, command: command, own: map[string]bool{}, commandLineOnly: map[string]bool{}}
}

// Group starts a group of flags.
func (s *Set) Group(title string) { s.groups = append(s.groups, Group{Title: title}) }

// Groups returns the groups in the order in which they were started.
func (s *Set) Groups() []Group { return s.groups }

// Add defines a flag in the last group. A flag without a name has only its letter; its name
// in pflag is then "-" and the letter.
func (s *Set) Add(v pflag.Value, name, letter, usage string) *pflag.Flag {
	g := &s.groups[len(s.groups)-1]
	name = cmp.Or(name, "-"+letter)
	if g.Title == "" || name[0] == '-' {
		s.MarkCommandLineOnly(name)
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

// MarkOwn marks flags that the replaced program does not have. They never make an
// abbreviation of the replaced program's flags ambiguous.
func (s *Set) MarkOwn(names ...string) {
	for _, n := range names {
		s.own[n] = true
	}
}

// IsOwn reports whether a flag was marked with MarkOwn.
func (s *Set) IsOwn(name string) bool { return s.own[name] }

// MarkCommandLineOnly marks flags that only the command line may set, not the environment or the
// configuration file.
func (s *Set) MarkCommandLineOnly(names ...string) {
	for _, n := range names {
		s.commandLineOnly[n] = true
	}
}

// Abbreviate allows unambiguous prefixes of names.
func (s *Set) Abbreviate() {
	s.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if near := s.Matches(name); len(near) == 1 {
			name = near[0]
		}
		return pflag.NormalizedName(name)
	})
}

// Matches returns the flags that an abbreviation may mean: the flag of exactly that name,
// else those of the replaced program, else our own.
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
