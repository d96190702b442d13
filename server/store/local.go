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

// Local is a store of repository paths: local directories whose subdirectories are models.
type Local struct {
	paths      []string
	namespaces bool

	mu    sync.Mutex
	added map[string]map[string]string // by registered path: the names of models by folder
}

// NewLocal returns the store of repository paths. With namespaces, models in different paths
// may have the same name.
func NewLocal(paths []string, namespaces bool) *Local {
	return &Local{paths: dedupe(paths), namespaces: namespaces, added: map[string]map[string]string{}}
}

// Check returns an error if there is no path, or one is not a directory.
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

// Register adds a path. The names map folders to the names of their models. A folder that is
// not in names keeps its own name, and is ignored if names give that name to another folder.
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

// Unregister removes a path that Register added.
func (l *Local) Unregister(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.added[path]; !known {
		return status.New(status.InvalidArg, "failed to unregister '%s', repository not found", path)
	}
	delete(l.added, path)
	return nil
}

// Roots returns the folders with the models, sorted.
func (l *Local) Roots() []string {
	var all []string
	for _, r := range l.roots() {
		all = append(all, r.path)
	}
	return all
}

// root is a repository path and the names of its models by folder.
type root struct {
	path  string
	names map[string]string
}

// roots returns the paths, sorted.
func (l *Local) roots() []root {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []root
	for _, path := range l.paths {
		all = append(all, root{path: path})
	}
	for path, names := range l.added {
		all = append(all, root{path, names})
	}
	slices.SortFunc(all, func(a, b root) int { return cmp.Compare(a.path, b.path) })
	return all
}

// modelName returns the name of the model in a folder.
func (r root) modelName(folder string) string {
	if name, ok := r.names[folder]; ok {
		return name
	}
	return folder
}

// hides reports whether a folder is ignored because its name was given to another folder.
func (r root) hides(folder string) bool {
	if _, renamed := r.names[folder]; renamed {
		return false
	}
	return slices.Contains(slices.Collect(maps.Values(r.names)), folder)
}

// List returns the model directories of all paths. With an error it returns those of the paths
// that could be read. It ignores files, follows links, and treats hidden directories like others.
func (l *Local) List(ctx context.Context) ([]Model, error) {
	at := map[ID]int{}
	var all []Model
	var errs []error
	for _, r := range l.roots() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(r.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading model repository: %w", err))
			continue
		}
		for _, e := range entries {
			m := Model{ID: ID{l.namespace(r.path), r.modelName(e.Name())}, Location: filepath.Join(r.path, e.Name())}
			switch before, twice := at[m.ID]; {
			case r.hides(e.Name()) || !leadsToDir(e, m.Location):
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

// Stamp returns when each entry of the model's directory was changed last. It is nil if the
// directory cannot be read.
func (l *Local) Stamp(ctx context.Context, m Model) (Stamp, error) {
	return ReadStamp(m.Location), ctx.Err()
}

// Fetch returns the model's own directory, with all versions.
func (l *Local) Fetch(ctx context.Context, m Model, _ string) (*Folder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return NewFolder(m.Location, nil), nil
}

func (l *Local) namespace(path string) string {
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
