// Package linttest makes model repositories with mistakes, for tests that compare the linter
// with servers. A case follows from its seed alone: the same seed gives the same files.
package linttest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files are the contents of a repository by path, with slashes. A path that ends in a slash is an
// empty directory.
type Files map[string]string

// Case is a repository with mistakes.
type Case struct {
	Seed  uint64
	Base  string   // name of the repository before the mutations
	What  []string // the mutations, for people
	Files Files
}

// String names the case and its mutations.
func (c Case) String() string {
	return fmt.Sprintf("seed %d: %s: %s", c.Seed, c.Base, strings.Join(c.What, "; "))
}

// Models returns the names of the model directories, sorted.
func (f Files) Models() []string {
	names := map[string]bool{}
	for path := range f {
		if name, _, ok := strings.Cut(path, "/"); ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Write writes the files into a directory.
func (f Files) Write(dir string) error {
	for path, text := range f {
		at := filepath.Join(dir, filepath.FromSlash(path))
		if strings.HasSuffix(path, "/") {
			if err := os.MkdirAll(at, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Generator makes cases from a set of repositories.
type Generator struct {
	names []string
	bases map[string]Files
}

// New returns a generator of cases. With python there are models in Python among the
// repositories; with only, there are no others, so that NVIDIA's server can load all of them.
func New(ctx context.Context, python, only bool) (*Generator, error) {
	g := &Generator{bases: map[string]Files{}}
	if !only {
		maps.Copy(g.bases, builtinBases())
		examples, err := exampleBases(ctx)
		if err != nil {
			return nil, err
		}
		maps.Copy(g.bases, examples)
	}
	if python || only {
		maps.Copy(g.bases, pythonBases())
	}
	g.names = slices.Sorted(maps.Keys(g.bases))
	return g, nil
}

// Bases returns the repositories without mistakes, as cases.
func (g *Generator) Bases() []Case {
	var all []Case
	for _, name := range g.names {
		all = append(all, Case{Base: name, Files: maps.Clone(g.bases[name])})
	}
	return all
}

// Case returns the case of a seed.
func (g *Generator) Case(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 0x6c696e74)) //nolint:gosec // reproducible, not secret
	name := g.names[r.IntN(len(g.names))]
	m := mutation{Rand: r, files: maps.Clone(g.bases[name])}
	for range 1 + r.IntN(2) {
		m.apply()
	}
	return Case{Seed: seed, Base: name, What: m.what, Files: m.files}
}

// mutation is a case in the making.
type mutation struct {
	*rand.Rand
	files Files
	what  []string
}

func (m *mutation) note(format string, args ...any) {
	m.what = append(m.what, fmt.Sprintf(format, args...))
}

// apply makes one change to one model.
func (m *mutation) apply() {
	models := m.files.Models()
	if len(models) == 0 {
		return
	}
	name := models[m.IntN(len(models))]
	switch n := m.IntN(100); {
	case n < 55:
		m.field(name)
	case n < 70:
		m.directed(name)
	case n < 80:
		m.text(name)
	default:
		m.file(name)
	}
}

// pick returns one element.
func pick[T any](m *mutation, from []T) T { return from[m.IntN(len(from))] }
