package store

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
)

// Lookup returns a function that returns the models of a name as List does, without listing the paths:
// with a thousand models a listing takes longer than the load of a small one. It is nil if a path is not a
// directory of this machine that can be listed now, and on systems where a file is found under other
// names than its own.
func (p *Paths) Lookup() func(name string) ([]Model, error) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return nil
	}
	roots := p.roots()
	for i := range roots {
		r := &roots[i]
		if r.place, r.err = p.place(r.path); r.err != nil {
			return nil
		}
		if d, local := r.place.(dir); !local || !d.listable() {
			return nil
		}
	}
	return func(name string) ([]Model, error) { return p.find(roots, name) }
}

// listable reports whether the directory can be read and searched.
func (d dir) listable() bool {
	if _, err := os.Stat(string(d) + "/."); err != nil { // only a directory that can be searched has it
		return false
	}
	f, err := os.Open(string(d))
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

func (p *Paths) find(roots []root, name string) (models []Model, err error) {
	for i := range roots {
		r := &roots[i]
		for _, folder := range r.foldersOf(name) {
			path := r.place.Location(folder)
			entry, statErr := os.Lstat(path)
			if statErr != nil && !errors.Is(statErr, fs.ErrNotExist) {
				err = errors.Join(err, statErr)
			}
			if statErr != nil || !leadsToDir(fs.FileInfoToDirEntry(entry), path) {
				continue
			}
			m := p.model(r, folder)
			if before := slices.IndexFunc(models, func(other Model) bool { return other.ID == m.ID }); before >= 0 {
				models[before].Ambiguous = true
				continue
			}
			models = append(models, m)
		}
	}
	sort.Slice(models, func(i, j int) bool { return Compare(models[i].ID, models[j].ID) < 0 })
	return models, err
}

// foldersOf returns the folders whose model would have a name, in the order of a listing.
func (r *root) foldersOf(name string) (all []string) {
	if _, renamed := r.names[name]; !renamed && !r.hides(name) && !r.passesOver(name) {
		all = append(all, name)
	}
	for folder, model := range r.names {
		if model == name {
			all = append(all, folder)
		}
	}
	all = slices.DeleteFunc(all, func(folder string) bool { return !isEntry(folder) })
	slices.Sort(all)
	return all
}

// isEntry reports whether a name can be that of an entry of a directory.
func isEntry(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && len(name) <= 255
}

// model returns the model in a folder of a root.
func (p *Paths) model(r *root, folder string) Model {
	return Model{ID: ID{p.namespace(r.path), r.modelName(folder)}, Location: r.place.Location(folder), place: r.place, folder: folder}
}
