package repository

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// stamp is when each thing in a model's directory was changed last, in Unix
// nanoseconds, contents included. The directory itself is under "".
type stamp map[string]int64

// maxNesting bounds how deep a model's directory is looked into: links may form
// circles.
const maxNesting = 16

// readStamp is nil for a directory that cannot be read.
func readStamp(dir string) stamp {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	s := stamp{"": changed(info)}
	for _, e := range entries {
		s[e.Name()] = lastChange(filepath.Join(dir, e.Name()), maxNesting)
	}
	return s
}

// lastChange is the time of the newest change at or below a path; 0 when it is
// not there.
func lastChange(path string, depth int) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	last := changed(info)
	if !info.IsDir() || depth == 0 {
		return last
	}
	entries, _ := os.ReadDir(path) // its own time tells of what can be read
	for _, e := range entries {
		last = max(last, lastChange(filepath.Join(path, e.Name()), depth-1))
	}
	return last
}

// same says that nothing was changed. An unreadable directory always was.
func (s stamp) same(t stamp) bool { return s != nil && maps.Equal(s, t) }

// sameFor says that nothing was changed that matters to one version: neither in
// its own directory nor beside the versions. The configuration, in the entry
// of that name, is compared by its content.
func (s stamp) sameFor(t stamp, version, config string) bool {
	others := func(name string, _ int64) bool {
		return name == "" || name == config || name != version && isNumber(name)
	}
	s, t = maps.Clone(s), maps.Clone(t)
	maps.DeleteFunc(s, others)
	maps.DeleteFunc(t, others)
	return s.same(t)
}

func isNumber(name string) bool { return strings.Trim(name, "0123456789") == "" }
