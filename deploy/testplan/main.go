// Command testplan prints which packages of this module a run of the tests should take, and what failed in one.
//
//	testplan race              those whose code starts goroutines or shares memory between them
//	testplan plain             those with tests that the race detector does not see: all others that have tests, and
//	                           those with a test, or code, that is left out with the race detector or -short
//	testplan changed [BASE]    those in which something differs from BASE (main), and those that import one directly
//	testplan affected [BASE]   the same, and all that depend on one
//	testplan digest            reads the output of a `go test` that failed
//
// What differs is what is committed since the two parted, what is not committed, and files that git does not
// know. Each package is printed as a path that `go test` takes, one a line.
//
// A digest is what failed and why, in at most a hundred lines: each failed test with the first lines that it
// printed, each panic, data race and error of the compiler. It is for logs of which one sees only the end.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if slices.Equal(os.Args[1:], []string{"digest"}) {
		if err := digest(os.Stdout, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "testplan:", err)
			os.Exit(1)
		}
		return
	}
	packages, err := plan(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testplan:", err)
		os.Exit(1)
	}
	for _, p := range packages {
		fmt.Fprintln(os.Stdout, p)
	}
}

func plan(args []string) ([]string, error) {
	const usage = "say which packages: race, plain, changed or affected (and then what to compare with, if it is not main)"
	if len(args) == 0 {
		return nil, errors.New(usage)
	}
	all, err := list()
	if err != nil {
		return nil, err
	}
	base := "main"
	if len(args) > 1 {
		base = args[1]
	}
	switch args[0] {
	case "race":
		return selected(all, func(p *pkg) (bool, error) {
			shares, err := p.sharesMemory()
			return p.hasTests() && shares, err
		})
	case "plain":
		return selected(all, func(p *pkg) (bool, error) {
			if !p.hasTests() {
				return false, nil
			}
			shares, err := p.sharesMemory()
			if err != nil || !shares {
				return !shares, err
			}
			return p.differsUnderRace()
		})
	case "changed", "affected":
		files, err := differing(base)
		if err != nil {
			return nil, err
		}
		chosen := owners(all, files)
		for more := true; more; {
			more = importers(all, chosen) && args[0] == "affected"
		}
		return selected(all, func(p *pkg) (bool, error) { return chosen[p.ImportPath], nil })
	}
	return nil, fmt.Errorf("%q is no choice: %s", args[0], usage)
}

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath, Dir                    string
	Module                             struct{ Path, Dir string }
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

func (p *pkg) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// folder returns the package's folder, relative to the module's.
func (p *pkg) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
}

// list returns the packages of the module in the current folder, in the order of `go list`.
func list() ([]*pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Module,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []*pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		switch err := dec.Decode(p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

func selected(all []*pkg, choose func(*pkg) (bool, error)) ([]string, error) {
	var out []string
	for _, p := range all {
		yes, err := choose(p)
		if err != nil {
			return nil, err
		}
		if yes {
			out = append(out, "./"+p.folder())
		}
	}
	return out, nil
}

// sharesMemory reports whether the package's code, without its tests, starts a goroutine or imports sync or
// sync/atomic: then the race detector may find something in its tests.
func (p *pkg) sharesMemory() (bool, error) {
	if slices.Contains(p.Imports, "sync") || slices.Contains(p.Imports, "sync/atomic") {
		return true, nil
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		starts := false
		ast.Inspect(f, func(n ast.Node) bool {
			_, is := n.(*ast.GoStmt)
			starts = starts || is
			return !starts
		})
		if starts {
			return true, nil
		}
	}
	return false, nil
}

// leftOut is what the source of a package has that leaves out a test, or code, with the race detector or -short.
var leftOut = regexp.MustCompile(`(?m)testing\.Short\(\)|\binvariant\.Enabled\b|^//go:build .*\b(race|invariants)\b`)

// differsUnderRace reports whether the package is another one, or is not wholly tested, with the race detector and -short.
func (p *pkg) differsUnderRace() (bool, error) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil || leftOut.Match(text) {
			return true, err
		}
	}
	return false, nil
}

// differing returns the files that differ from a revision, relative to the module's folder.
func differing(base string) ([]string, error) {
	parted, err := git("merge-base", base, "HEAD")
	if err != nil {
		return nil, err
	}
	tracked, err := git("diff", "--name-only", "--relative", parted[0])
	if err != nil {
		return nil, err
	}
	unknown, err := git("ls-files", "--others", "--exclude-standard")
	return append(tracked, unknown...), err
}

func git(args ...string) ([]string, error) {
	var why bytes.Buffer
	cmd := exec.Command("git", append([]string{"-c", "core.quotePath=false"}, args...)...)
	cmd.Stderr = &why
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(why.String()))
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), nil
}

// owners returns the packages whose files these are: those in whose folder they lie, or in a folder of files
// below it. A change of the module's dependencies concerns all packages.
func owners(all []*pkg, files []string) map[string]bool {
	byFolder := map[string]string{}
	for _, p := range all {
		byFolder[p.folder()] = p.ImportPath
	}
	chosen := map[string]bool{}
	for _, file := range files {
		if file == "go.mod" || file == "go.sum" {
			for _, p := range all {
				chosen[p.ImportPath] = true
			}
			return chosen
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if p, ok := byFolder[dir]; ok {
				chosen[p] = true
				break
			}
		}
	}
	return chosen
}

// importers adds the packages that import a chosen one, also in tests, and reports whether there were any.
func importers(all []*pkg, chosen map[string]bool) bool {
	before := maps.Clone(chosen)
	for _, p := range all {
		if slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports), func(i string) bool { return before[i] }) {
			chosen[p.ImportPath] = true
		}
	}
	return len(chosen) > len(before)
}
