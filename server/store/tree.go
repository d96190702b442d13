package store

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of the part of a model's directory that is looked at: links may form circles, and a folder
// may be linked by mistake that has the files of a whole machine.
const (
	maxNesting = 16
	maxFiles   = 100_000
)

// walk finds the newest change below an entry, and a file that is not complete.
type walk struct {
	entry Entry
	files int
	// within are the folders on the way down; a link to one of them is not followed.
	within []fs.FileInfo
}

// readEntry returns the entry of a file or folder.
func readEntry(path string, dir bool) Entry {
	w := walk{entry: Entry{Dir: dir}}
	w.visit(path, "")
	w.entry.Tag = tag(w.entry.ChangedAt)
	return w.entry
}

// visit looks at a file or folder and what is below it; name is its path in the entry. What cannot
// be read is covered by the time of its folder.
func (w *walk) visit(path, name string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if at := Changed(info); at > w.entry.ChangedAt {
		w.entry.ChangedAt, w.entry.Newest = at, name
	}
	if w.files++; !info.IsDir() || w.files > maxFiles || len(w.within) >= maxNesting || w.around(info) {
		return
	}
	w.within = append(w.within, info)
	defer func() { w.within = w.within[:len(w.within)-1] }()
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		below := filepath.Join(name, e.Name())
		if w.entry.Partial == "" && IsPartial(e.Name()) {
			w.entry.Partial = below
		}
		w.visit(filepath.Join(path, e.Name()), below)
	}
}

// around reports whether a folder contains the folder that the walk is in.
func (w *walk) around(info fs.FileInfo) bool {
	for _, outer := range w.within {
		if os.SameFile(outer, info) {
			return true
		}
	}
	return false
}
