package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"triton/pkg/status"
)

// Local is a store of repository paths: directories whose subdirectories are
// models.
type Local struct {
	paths      []string
	namespaces bool

	mu    sync.Mutex
	added map[string]map[string]string // names by folder, by path
}

// NewLocal returns the store of some paths. With namespaces, models in different
// paths may have the same name.
func NewLocal(paths []string, namespaces bool) *Local {
	return &Local{paths: dedupe(paths), namespaces: namespaces, added: map[string]map[string]string{}}
}

// Check finds what makes a path no model repository.
func (l *Local) Check() error {
	if len(l.paths) == 0 {
		return status.New(status.InvalidArg, "--model-repository must be specified")
	}
	for _, path := range l.paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return status.New(status.Internal, "failed to stat file %s", path)
		case !info.IsDir():
			return status.New(status.InvalidArg, "repository path is not a valid directory")
		}
	}
	return nil
}

// Register adds a path. Names are what models are called, by the folder that they
// lie in; a folder that is not there keeps its own name, and is no model when another
// folder is called so.
func (l *Local) Register(path string, names map[string]string) error {
	if !isDir(path) {
		return status.New(status.InvalidArg, "failed to register '%s', repository not found", path)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.added[path]; known || slices.Contains(l.paths, path) {
		return status.New(status.AlreadyExists, "model repository '%s' has already been registered", path)
	}
	for _, other := range l.added {
		for _, name := range names {
			if slices.Contains(slices.Collect(maps.Values(other)), name) {
				return status.New(status.AlreadyExists, "failed to register '%s', there is a conflicting mapping for '%s'", name, name)
			}
		}
	}
	l.added[path] = maps.Clone(names)
	return nil
}

// Unregister forgets a path that Register added.
func (l *Local) Unregister(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.added[path]; !known {
		return status.New(status.InvalidArg, "failed to unregister '%s', repository not found", path)
	}
	delete(l.added, path)
	return nil
}

// place is a repository path and what its models are called, by folder.
type place struct {
	path  string
	names map[string]string
}

// places returns the paths in order.
func (l *Local) places() []place {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []place
	for _, path := range l.paths {
		all = append(all, place{path: path})
	}
	for path, names := range l.added {
		all = append(all, place{path, names})
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	return all
}

// called returns the name of the model in a folder.
func (p place) called(folder string) string {
	if name, ok := p.names[folder]; ok {
		return name
	}
	return folder
}

// hides reports whether a folder is no model because another one has its name.
func (p place) hides(folder string) bool {
	if _, renamed := p.names[folder]; renamed {
		return false
	}
	return slices.Contains(slices.Collect(maps.Values(p.names)), folder)
}

// List returns the model directories of all paths, with an error those of the
// paths that could be read. Hidden directories count like others; files are
// ignored; links are followed.
func (l *Local) List(ctx context.Context) ([]Model, error) {
	at := map[ID]int{}
	var all []Model
	var errs []error
	for _, p := range l.places() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(p.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading model repository: %w", err))
			continue
		}
		for _, e := range entries {
			m := Model{ID: ID{l.space(p.path), p.called(e.Name())}, Location: filepath.Join(p.path, e.Name())}
			switch before, twice := at[m.ID]; {
			case p.hides(e.Name()) || !leadsToDir(e, m.Location):
			case twice:
				all[before].Ambiguous = true
			default:
				at[m.ID] = len(all)
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b Model) int { return Compare(a.ID, b.ID) })
	return all, errors.Join(errs...)
}

// Stamp returns when each thing in the model's directory was changed last. It is
// nil for a directory that cannot be read.
func (l *Local) Stamp(ctx context.Context, m Model) (Stamp, error) {
	return ReadStamp(m.Location), ctx.Err()
}

// Fetch returns the model's own directory, whichever version is asked for.
func (l *Local) Fetch(ctx context.Context, m Model, _ string) (*Folder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return NewFolder(m.Location, nil), nil
}

func (l *Local) space(path string) string {
	if l.namespaces {
		return path
	}
	return ""
}

func dedupe(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// leadsToDir reports whether an entry is a directory or a link to one.
func leadsToDir(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	return isDir(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
