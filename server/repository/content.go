package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/agent"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/store"
)

// content is a model as it lies in the store, or came with a load, as far as it
// can be known without its backend. It is not changed once it is read.
type content struct {
	from   store.Model
	config *modelconfig.Config
	// source is the file or folder that has the configuration.
	source string
	stamp  store.Stamp
	// folder has the files beside the versions; with own, which came with a load,
	// the versions too.
	folder *store.Folder
	own    bool
	// override replaces the configuration in the folder; nil: it does not.
	override *string

	parts    []store.ID // of an ensemble, by step
	versions []numbered // that the policy picks, ascending
	missing  []int64    // that it names in vain
	ignored  []string   // folders that are no versions, and why
}

// numbered is a version folder.
type numbered struct {
	number int64
	name   string
}

func (c *content) id() store.ID { return c.from.ID }

func (c *content) ensemble() bool { return isEnsemble(c.config.ModelConfig) }

func isEnsemble(c *inferencepb.ModelConfig) bool { return c.GetEnsembleScheduling() != nil }

// origin tells where a version comes from.
func (c *content) origin(n numbered) string { return filepath.Join(c.from.Location, n.name) }

// fetch returns a directory with one version, which the caller holds.
func (c *content) fetch(ctx context.Context, s Store, version string) (*store.Folder, error) {
	if c.own {
		return c.folder.Hold(), nil
	}
	f, err := s.Fetch(ctx, c.from, version)
	if err != nil {
		return nil, status.New(status.Internal, "fetching model '%s' from its store: %w", c.id(), err)
	}
	return f, nil
}

// reader reads the contents of models.
type reader struct {
	store        Store
	autoComplete bool
	configName   string // Options.ConfigName
	namespaces   bool
}

// open fetches a model and parses its configuration. Its stamp was taken before, so
// that a change in between is seen the next time. The caller completes the content,
// and holds its folder.
func (d *reader) open(ctx context.Context, m store.Model, stamp store.Stamp, override *string) (*content, error) {
	c := &content{from: m, stamp: stamp, override: override}
	folder, err := c.fetch(ctx, d.store, "")
	if err != nil {
		return nil, err
	}
	c.folder = folder
	if err := d.configure(c); err != nil {
		folder.Release()
		return nil, err
	}
	return c, nil
}

// unpack makes content of files that came with a load. It has no stamp, so that the
// next load goes back to the store's files.
func (d *reader) unpack(scratch *store.Scratch, name string, o infer.LoadOptions) (*content, error) {
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
	c := &content{from: store.Model{ID: store.ID{Name: name}, Location: folder.Dir}, folder: folder, own: true, override: o.Config}
	err = d.configure(c)
	if err == nil {
		err = d.complete(context.Background(), c, store.ReadStamp(folder.Dir))
	}
	if err != nil {
		folder.Release()
		return nil, err
	}
	return c, nil
}

// complete finds the backend and the versions of content that is open, and checks
// what can be checked.
func (d *reader) complete(ctx context.Context, c *content, entries store.Stamp) (err error) {
	all := &files{ctx, d.store, c, entries, map[string]*store.Folder{}}
	defer all.release()
	if err := c.config.First(agent.Run(c.config, all)); err != nil {
		return err
	}
	if err := d.detect(ctx, c, entries); err != nil {
		return err
	}
	c.config.Normalize()
	if err := c.config.First(c.config.Validate()); err != nil {
		return err
	}
	if !d.autoComplete {
		if err := c.config.First(c.config.ValidateIO()); err != nil {
			return err
		}
	}
	c.pick(entries)
	return c.config.CheckName(c.id().Name)
}

// configure reads the configuration, or the one in its place.
func (d *reader) configure(c *content) (err error) {
	dir := c.folder.Dir
	path := d.configPath(dir)
	rel, _ := filepath.Rel(dir, path)
	c.source, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
	if c.override != nil {
		if c.config, err = modelconfig.ParseJSON("", []byte(*c.override)); err != nil {
			return status.New(status.InvalidArg, "Invalid config override: %w", err)
		}
	} else {
		c.config, err = modelconfig.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && d.autoComplete {
			c.config, err = modelconfig.Parse(path, nil)
		}
		if err != nil {
			return err
		}
	}
	if !c.own && filepath.Base(c.from.Location) != c.id().Name {
		c.config.Name = c.id().Name // the name that Register gave it
	}
	return nil
}

// detect finds the backend. Only a configuration that leaves it open needs the
// files of a version.
func (d *reader) detect(ctx context.Context, c *content, entries store.Stamp) error {
	folder := c.folder
	open := c.config.GetPlatform() == "" && c.config.GetDefaultModelFilename() == "" && slices.Contains([]string{"", "tensorflow"}, c.config.GetBackend())
	if all := entries.Folders(); open && len(all) > 0 {
		first, err := c.fetch(ctx, d.store, all[0])
		if err != nil {
			return err
		}
		defer first.Release()
		folder = first
	}
	return c.config.Detect(c.id().Name, os.DirFS(folder.Dir))
}

// configPath is the file that has the configuration of the model in dir.
func (d *reader) configPath(dir string) string {
	if d.configName != "" {
		path := filepath.Join(dir, "configs", d.configName+".pbtxt")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return filepath.Join(dir, modelconfig.FileName)
}

// pick finds the versions that the model's policy serves.
func (c *content) pick(entries store.Stamp) {
	var present []int64
	names := map[int64]string{}
	for _, d := range modelconfig.VersionsOf(entries.Folders()) {
		if d.Ignored != "" {
			c.ignored = append(c.ignored, d.Ignored)
			continue
		}
		present = append(present, d.Number)
		names[d.Number] = d.Name
	}
	chosen, missing := modelconfig.Select(c.config.GetVersionPolicy(), present)
	slices.Sort(chosen)
	c.missing = missing
	for _, n := range chosen {
		c.versions = append(c.versions, numbered{n, names[n]})
	}
}

// explain logs what is odd about the versions. The error says that there are none.
func (r *Repository) explain(c *content) error {
	for _, why := range c.ignored {
		r.opts.Log.Warn(why)
	}
	for _, n := range c.missing {
		r.opts.Log.Error(fmt.Sprintf("version %d is specified for model '%s', but the version directory is not present", n, c.id()))
	}
	if len(c.versions) == 0 {
		return status.New(status.InvalidArg, "at least one version must be available under the version policy of model '%s'", c.id())
	}
	return nil
}
