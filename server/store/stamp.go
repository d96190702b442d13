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
	// ChangedAt is when the newest file below the entry was changed, in Unix nanoseconds, and
	// Newest its path in the entry, empty for the entry itself. ChangedAt is 0 in stores that do
	// not know it.
	ChangedAt int64
	Newest    string
	// Partial is the path in the entry of a file that is not complete by its name (IsPartial);
	// empty: there is none.
	Partial string
}

// ReadStamp returns the stamp of a local directory, from the times of its files. Files and folders
// beside the versions that are not complete by their name are left out: under their final name
// they will be new. The stamp is nil if the directory cannot be read.
func ReadStamp(dir string) Stamp {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	at := Changed(info)
	s := Stamp{"": {Tag: tag(at), Dir: true, ChangedAt: at}}
	for _, e := range entries {
		if IsPartial(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		s[e.Name()] = readEntry(path, leadsToDir(e, path))
	}
	return s
}

func tag(nanoseconds int64) string { return strconv.FormatInt(nanoseconds, 10) }

// Same reports whether nothing was changed. Content without a stamp counts as changed.
func (s Stamp) Same(t Stamp) bool { return s != nil && maps.EqualFunc(s, t, sameEntry) }

func sameEntry(a, b Entry) bool { return a.Tag == b.Tag && a.Dir == b.Dir }

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
