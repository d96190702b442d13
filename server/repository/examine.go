package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/agent"
	"triton/pkg/status"
	"triton/server/infer"
)

// candidate is a model as its directory stands, ready to be loaded.
type candidate struct {
	id     modelID
	dir    string
	config *modelconfig.Config
	// source is the file or folder of dir that has the configuration.
	source string
	stamp  stamp
	files  *scratch // dir, when it came with the load

	parts []modelID  // of an ensemble, by step
	part  bool       // nobody asked for it: an ensemble needs it
	fits  []*version // what the steps would use, while it loads
}

// examine reads a model's directory. Nil without an error: nothing was changed
// since it was loaded.
func (r *Repository) examine(f *found, o infer.LoadOptions) (*candidate, error) {
	r.mu.Lock()
	before := r.records[f.id]
	r.mu.Unlock()
	c := &candidate{id: f.id, dir: f.dir, stamp: readStamp(f.dir)}
	if o.Config == nil && before != nil && before.dir == f.dir && before.stamp.same(c.stamp) {
		return nil, nil
	}
	return c, r.read(c, o.Config)
}

// unpack makes a candidate of files that came with the load.
func (r *Repository) unpack(name string, o infer.LoadOptions) (*candidate, error) {
	if o.Config == nil {
		return nil, status.New(status.InvalidArg, "Load parameter 'config' must be specified for model file override")
	}
	if _, err := modelconfig.ParseJSON("", []byte(*o.Config)); err != nil {
		return nil, status.New(status.InvalidArg, "%w", err)
	}
	files, err := r.scratch.write(o.Files)
	if err != nil {
		return nil, err
	}
	// Without a stamp the next load goes back to the repository's files.
	c := &candidate{id: modelID{"", name}, dir: files.dir, files: files}
	if err := r.read(c, o.Config); err != nil {
		files.release()
		return nil, err
	}
	return c, nil
}

// read finds the model's configuration as far as it can be known without its
// backend: parsed, backend detected, normalised and checked.
func (r *Repository) read(c *candidate, override *string) (err error) {
	path := r.configPath(c.dir)
	rel, _ := filepath.Rel(c.dir, path)
	c.source, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
	if override != nil {
		if c.config, err = modelconfig.ParseJSON("", []byte(*override)); err != nil {
			return status.New(status.InvalidArg, "Invalid config override: %w", err)
		}
	} else {
		c.config, err = modelconfig.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && r.opts.AutoComplete {
			c.config, err = modelconfig.Parse(path, nil)
		}
		if err != nil {
			return err
		}
	}
	if c.files == nil && filepath.Base(c.dir) != c.id.name {
		c.config.Name = c.id.name // the name that Register gave it
	}
	if err := first(c.config, agent.Run(c.config, os.DirFS(c.dir))); err != nil {
		return err
	}
	if err := c.config.Detect(c.id.name, os.DirFS(c.dir)); err != nil {
		return err
	}
	c.config.Normalize()
	if err := first(c.config, c.config.Validate()); err != nil {
		return err
	}
	if !r.opts.AutoComplete {
		if err := first(c.config, c.config.ValidateIO()); err != nil {
			return err
		}
	}
	for _, f := range c.config.NoEffect() {
		r.opts.Log.Warn(fmt.Sprintf("model '%s': %s", c.id, f.Msg))
	}
	c.parts = r.partsOf(c)
	return c.config.CheckName(c.id.name)
}

// configPath is the file that has the configuration of the model in dir.
func (r *Repository) configPath(dir string) string {
	if r.opts.ConfigName != "" {
		path := filepath.Join(dir, "configs", r.opts.ConfigName+".pbtxt")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return filepath.Join(dir, modelconfig.FileName)
}

// numbered is a version directory.
type numbered struct {
	number int64
	dir    string
}

// versions picks the version directories that the model's policy serves,
// ascending.
func (r *Repository) versions(c *candidate) ([]numbered, error) {
	dirs, err := modelconfig.Versions(os.DirFS(c.dir))
	if err != nil {
		return nil, fmt.Errorf("listing the versions of model '%s': %w", c.id, err)
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
	chosen, missing := modelconfig.Select(c.config.GetVersionPolicy(), present)
	for _, n := range missing {
		r.opts.Log.Error(fmt.Sprintf("version %d is specified for model '%s', but the version directory is not present", n, c.id))
	}
	slices.Sort(chosen)
	out := make([]numbered, len(chosen))
	for i, n := range chosen {
		out[i] = numbered{n, filepath.Join(c.dir, names[n])}
	}
	if len(out) == 0 {
		return nil, status.New(status.InvalidArg, "at least one version must be available under the version policy of model '%s'", c.id)
	}
	return out, nil
}
