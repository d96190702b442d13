package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// found is a directory that may be a model.
type found struct {
	name string
	dir  string
	// twice says that the name stands in another repository path too.
	twice bool
}

// scan lists the model directories of all paths by name. Hidden directories
// count like others; files are ignored; links are followed.
func scan(paths []string) ([]*found, error) {
	if len(paths) == 0 {
		return nil, status.New(status.InvalidArg, "--model-repository must be specified")
	}
	byName := map[string]*found{}
	for _, path := range dedupe(paths) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, status.New(status.Internal, "failed to stat file %s", path)
		case !info.IsDir():
			return nil, status.New(status.InvalidArg, "repository path is not a valid directory")
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("reading model repository: %w", err)
		}
		for _, e := range entries {
			dir := filepath.Join(path, e.Name())
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				continue
			}
			if f := byName[e.Name()]; f != nil {
				f.twice = true
				continue
			}
			byName[e.Name()] = &found{name: e.Name(), dir: dir}
		}
	}
	all := make([]*found, 0, len(byName))
	for _, f := range byName {
		all = append(all, f)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all, nil
}

func dedupe(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// read is the model's configuration as far as it can be known without its
// backend: parsed, backend detected, normalised and checked.
func (r *Repository) read(f *found) (*modelconfig.Config, error) {
	path := filepath.Join(f.dir, modelconfig.FileName)
	c, err := modelconfig.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && r.opts.AutoComplete {
		c, err = modelconfig.Parse(path, nil)
	}
	if err != nil {
		return nil, err
	}
	if err := c.Detect(f.name, os.DirFS(f.dir)); err != nil {
		return nil, err
	}
	c.Normalize()
	if err := first(c, c.Validate()); err != nil {
		return nil, err
	}
	if !r.opts.AutoComplete {
		if err := first(c, c.ValidateIO()); err != nil {
			return nil, err
		}
	}
	return c, c.CheckName(f.name)
}

// versions picks the version directories that the model's policy serves,
// ascending.
func (r *Repository) versions(f *found, c *modelconfig.Config) ([]numbered, error) {
	dirs, err := modelconfig.Versions(os.DirFS(f.dir))
	if err != nil {
		return nil, fmt.Errorf("listing the versions of model '%s': %w", f.name, err)
	}
	var present []int64
	names := map[int64]string{}
	for _, d := range dirs {
		if d.Ignored != "" {
			r.opts.Log.Warn(d.Ignored)
			continue
		}
		present = append(present, d.Number)
		names[d.Number] = d.Name
	}
	chosen, missing := modelconfig.Select(c.GetVersionPolicy(), present)
	for _, n := range missing {
		r.opts.Log.Error(fmt.Sprintf("version %d is specified for model '%s', but the version directory is not present", n, f.name))
	}
	slices.Sort(chosen)
	out := make([]numbered, len(chosen))
	for i, n := range chosen {
		out[i] = numbered{n, filepath.Join(f.dir, names[n])}
	}
	if len(out) == 0 {
		return nil, status.New(status.InvalidArg, "at least one version must be available under the version policy of model '%s'", f.name)
	}
	return out, nil
}

// numbered is a version directory.
type numbered struct {
	number int64
	dir    string
}
