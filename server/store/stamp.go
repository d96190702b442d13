package store

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Stamp identifies the content of a model: it has an entry for each file and folder in the
// model's folder, and one for the folder itself under "". Two stamps of a model are the same if
// nothing was changed.
type Stamp map[string]Entry

// Entry identifies the content of a file or of all files below a folder.
type Entry struct {
	Tag string // differs after a change; each store has its own form
	Dir bool
}

// maxNesting bounds how deep a model's directory is read: links may form circles.
const maxNesting = 16

// ReadStamp returns the stamp of a local directory, from the times of its files. It is nil if
// the directory cannot be read.
func ReadStamp(dir string) Stamp {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	s := Stamp{"": {tag(Changed(info)), true}}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		s[e.Name()] = Entry{tag(lastChange(path, maxNesting)), leadsToDir(e, path)}
	}
	return s
}

func tag(nanoseconds int64) string { return strconv.FormatInt(nanoseconds, 10) }

// lastChange returns the time of the newest change at or below a path in Unix
// nanoseconds; 0 if there is nothing.
func lastChange(path string, depth int) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	last := Changed(info)
	if !info.IsDir() || depth == 0 {
		return last
	}
	entries, _ := os.ReadDir(path) // what cannot be read is covered by the time of its directory
	for _, e := range entries {
		last = max(last, lastChange(filepath.Join(path, e.Name()), depth-1))
	}
	return last
}

// Same reports whether nothing was changed. Content without a stamp counts as changed.
func (s Stamp) Same(t Stamp) bool { return s != nil && maps.Equal(s, t) }

// SameFor reports whether everything that one version depends on is unchanged: its own folder
// and the entries beside the versions. It ignores the entry named config: callers compare the
// configuration itself.
func (s Stamp) SameFor(t Stamp, version, config string) bool {
	others := func(name string, _ Entry) bool {
		return name == "" || name == config || name != version && IsVersion(name)
	}
	s, t = maps.Clone(s), maps.Clone(t)
	maps.DeleteFunc(s, others)
	maps.DeleteFunc(t, others)
	return s.Same(t)
}

// IsVersion reports whether a name can be the name of a version folder.
func IsVersion(name string) bool { return strings.Trim(name, "0123456789") == "" }

// Folders returns the names of the folders in a model's folder, sorted.
func (s Stamp) Folders() []string {
	var all []string
	for name, e := range s {
		if e.Dir && name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
