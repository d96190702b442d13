package layout

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/framework"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/store"
)

// open fetches a model and parses its configuration. The stamp was taken before, so that
// the next operation sees a change in between. The caller completes the content, and holds
// its folder.
func (r *Reader) open(ctx context.Context, m store.Model, stamp store.Stamp, override *string) (*Content, error) {
	c := &Content{From: m, Stamp: stamp, Override: override}
	folder, err := c.Fetch(ctx, r.Store, "")
	if err != nil {
		return nil, err
	}
	c.Folder = folder
	if err := r.configure(c); err != nil {
		folder.Release()
		return nil, err
	}
	return c, nil
}

// unpack makes content from the files that came with a load. The content has no stamp, so
// that the next load uses the store's files again.
func (r *Reader) unpack(scratch *store.Scratch, name string, o infer.LoadOptions) (*Content, error) {
	if o.Config == nil {
		return nil, status.New(status.InvalidArg, "Load parameter 'config' must be specified for model file override")
	}
	if _, err := modelconfig.ParseJSON("", []byte(*o.Config)); err != nil {
		return nil, status.New(status.InvalidArg, "%w", err)
	}
	folder, err := scratch.Write(o.Files)
	if err != nil {
		return nil, err
	}
	c := &Content{From: store.Model{ID: store.ID{Name: name}, Location: folder.Dir}, Folder: folder, uploaded: true, Override: o.Config}
	err = r.configure(c)
	if err == nil {
		err = r.complete(context.Background(), c, store.ReadStamp(folder.Dir))
	}
	if err != nil {
		folder.Release()
		return nil, err
	}
	return c, nil
}

// configure reads the model's configuration, or the override.
func (r *Reader) configure(c *Content) (err error) {
	dir := c.Folder.Dir
	path := r.configPath(dir)
	rel, _ := filepath.Rel(dir, path)
	c.ConfigEntry, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
	if c.Override != nil {
		if c.Config, err = modelconfig.ParseJSON("", []byte(*c.Override)); err != nil {
			return status.New(status.InvalidArg, "Invalid config override: %w", err)
		}
	} else {
		c.Config, err = modelconfig.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && r.AutoComplete && !isLink(path) {
			c.Config, err = modelconfig.Parse(path, nil)
		}
		if err != nil {
			return err
		}
	}
	if !c.uploaded && filepath.Base(c.From.Location) != c.ID().Name {
		c.Config.Name = c.ID().Name // the name in the registration of its path
	}
	return nil
}

// isLink reports whether a file is a symbolic link. One that leads to nothing is a mistake, and no
// model without a configuration.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// configPath returns the path of the configuration of the model in dir.
func (r *Reader) configPath(dir string) string {
	return modelconfig.PathIn(dir, r.ConfigName)
}

// complete finds the backend and the versions of opened content, and makes the checks that
// do not need the backend.
func (r *Reader) complete(ctx context.Context, c *Content, entries store.Stamp) (err error) {
	if entries, err = r.runAgents(ctx, c, entries); err != nil {
		return err
	}
	if err := r.detect(ctx, c, entries); err != nil {
		return err
	}
	c.Config.Normalize()
	found := c.Config.ValidateIncomplete()
	if !r.AutoComplete {
		found = slices.Concat(c.Config.Validate(), c.Config.ValidateIO())
	}
	if err := c.Config.First(found); err != nil {
		return err
	}
	c.pick(entries)
	return c.Config.CheckName(c.ID().Name)
}

// detect finds the backend. It needs the files of a version only if the configuration
// leaves the backend open.
func (r *Reader) detect(ctx context.Context, c *Content, entries store.Stamp) error {
	folder := c.Folder
	unknown := c.Config.GetPlatform() == "" && c.Config.GetDefaultModelFilename() == "" && slices.Contains([]string{"", "tensorflow"}, c.Config.GetBackend())
	name, ok := modelconfig.DetectionFolder(entries.Folders())
	if unknown && ok {
		fetched, err := c.Fetch(ctx, r.Store, name)
		if err != nil {
			return err
		}
		defer fetched.Release()
		folder = fetched
	}
	err := c.Config.Detect(c.ID().Name, os.DirFS(folder.Dir))
	if err != nil && folder != c.Folder {
		if advice := framework.Advice(filepath.Join(folder.Dir, name), ""); advice != "" {
			return status.Wrap(err, status.InvalidArg, "%w (%s)", err, advice)
		}
	}
	return err
}

// pick finds the versions that the model's policy serves.
func (c *Content) pick(entries store.Stamp) {
	var present []int64
	names := map[int64]string{}
	for _, d := range modelconfig.VersionsOf(entries.Folders()) {
		if d.Ignored != "" {
			c.Ignored = append(c.Ignored, d.Ignored)
			continue
		}
		present = append(present, d.Number)
		names[d.Number] = d.Name
	}
	chosen, missing := modelconfig.Select(c.Config.GetVersionPolicy(), present)
	slices.Sort(chosen)
	c.Missing = missing
	for _, n := range chosen {
		c.Versions = append(c.Versions, Version{n, names[n]})
	}
}
