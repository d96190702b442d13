package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"triton/pkg/status"
)

// found is a directory that may be a model.
type found struct {
	id  modelID
	dir string
	// twice says that the name stands in another repository path too, and paths
	// are no namespaces.
	twice bool
}

// scan lists the model directories of all paths, with an error those of the
// paths that it could read. Hidden directories count like others; files are
// ignored; links are followed.
func (r *Repository) scan() ([]*found, error) {
	byID := map[modelID]*found{}
	var all []*found
	var errs []error
	for _, p := range r.places() {
		entries, err := os.ReadDir(p.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading model repository: %w", err))
			continue
		}
		for _, e := range entries {
			f := &found{id: modelID{r.space(p.path), p.called(e.Name())}, dir: filepath.Join(p.path, e.Name())}
			switch before := byID[f.id]; {
			case !isDir(f.dir):
			case before != nil:
				before.twice = true
			default:
				byID[f.id] = f
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *found) int { return compareIDs(a.id, b.id) })
	return all, errors.Join(errs...)
}

// locate finds the directories of one name.
func (r *Repository) locate(name string) []*found {
	var all []*found
	for _, p := range r.places() {
		f := &found{id: modelID{r.space(p.path), name}, dir: p.folder(name)}
		switch {
		case p.called(filepath.Base(f.dir)) != name || !isDir(f.dir):
		case len(all) > 0 && all[0].id == f.id:
			all[0].twice = true
		default:
			all = append(all, f)
		}
	}
	return all
}

func (r *Repository) space(path string) string {
	if r.opts.Namespacing {
		return path
	}
	return ""
}

// checkPaths finds what makes a path no model repository.
func checkPaths(paths []string) error {
	if len(paths) == 0 {
		return status.New(status.InvalidArg, "--model-repository must be specified")
	}
	for _, path := range dedupe(paths) {
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

func dedupe(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
