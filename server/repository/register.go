package repository

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"triton/pkg/status"
)

// Register adds a repository path while the server runs, in explicit control.
// Names are what models are called, by the folder that they lie in; a folder
// that is not there keeps its own name. Nothing is loaded.
func (r *Repository) Register(path string, names map[string]string) error {
	switch {
	case r.opts.Control != ControlExplicit:
		return status.New(status.Unsupported, "repository registration is not allowed if model control mode is not EXPLICIT")
	case !isDir(path):
		return status.New(status.InvalidArg, "failed to register '%s', repository not found", path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.added[path]; known || slices.Contains(r.opts.Paths, path) {
		return status.New(status.AlreadyExists, "model repository '%s' has already been registered", path)
	}
	for _, other := range r.added {
		for _, name := range names {
			if slices.Contains(slices.Collect(maps.Values(other)), name) {
				return status.New(status.AlreadyExists, "failed to register '%s', there is a conflicting mapping for '%s'", name, name)
			}
		}
	}
	if r.added == nil {
		r.added = map[string]map[string]string{}
	}
	r.added[path] = maps.Clone(names)
	return nil
}

// Unregister forgets a path that Register added. Models that were loaded from it
// go on.
func (r *Repository) Unregister(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.added[path]; !known {
		return status.New(status.InvalidArg, "failed to unregister '%s', repository not found", path)
	}
	delete(r.added, path)
	return nil
}

// registered is a repository path and what its models are called, by the folder that
// they lie in; others are called as their folder.
type registered struct {
	path  string
	names map[string]string
}

// places are the repository paths, in order.
func (r *Repository) places() []registered {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []registered
	for _, path := range dedupe(r.opts.Paths) {
		all = append(all, registered{path: path})
	}
	for path, names := range r.added {
		all = append(all, registered{path, names})
	}
	slices.SortFunc(all, func(a, b registered) int { return cmp.Compare(a.path, b.path) })
	return all
}

// called is the name of the model in a folder.
func (p registered) called(folder string) string {
	if name, ok := p.names[folder]; ok {
		return name
	}
	return folder
}

// folder is where a model of this name may lie.
func (p registered) folder(name string) string {
	for folder, called := range p.names {
		if called == name {
			return filepath.Join(p.path, folder)
		}
	}
	return filepath.Join(p.path, name)
}
