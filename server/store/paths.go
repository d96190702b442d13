package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"sync"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// Paths is a store of repository paths, on this machine and on others.
type Paths struct {
	paths      []string
	namespaces bool
	open       Opener

	mu     sync.Mutex
	places map[string]Place             // by path: those that are open
	added  map[string]map[string]string // by registered path: the names of models by folder
}

// NewPaths returns the store of repository paths whose places open opens. With namespaces, models in
// different paths may have the same name.
func NewPaths(paths []string, namespaces bool, open Opener) *Paths {
	return &Paths{
		paths: dedupe(paths), namespaces: namespaces, open: open,
		places: map[string]Place{}, added: map[string]map[string]string{},
	}
}

// Check returns an error if there is no path, or one cannot serve models.
func (p *Paths) Check(ctx context.Context) error {
	if len(p.paths) == 0 {
		return status.New(status.InvalidArg, "--model-repository must be specified")
	}
	for _, path := range p.paths {
		place, err := p.place(path)
		if err == nil {
			err = place.Check(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Register adds a path. The names map folders to the names of their models. A folder that is
// not in names keeps its own name, and is ignored if names give that name to another folder.
func (p *Paths) Register(ctx context.Context, path string, names map[string]string) error {
	place, err := p.place(path)
	if err == nil {
		err = place.Check(ctx)
	}
	if err != nil {
		err = registerError(path, place, err)
	}
	p.mu.Lock()
	_, known := p.added[path]
	known = known || slices.Contains(p.paths, path)
	if err == nil {
		err = p.conflict(path, known, names)
	}
	var dropped Place
	if err == nil {
		p.added[path] = maps.Clone(names)
	} else if !known {
		dropped = p.drop(path)
	}
	p.mu.Unlock()
	closePlace(dropped)
	return err
}

// registerError is the error of a path that cannot serve models. That of a directory has Triton's
// words alone; place is nil if the path cannot be opened.
func registerError(path string, place Place, err error) error {
	if _, local := place.(dir); local {
		return status.New(status.InvalidArg, "failed to register '%s', repository not found", path)
	}
	return status.New(status.InvalidArg, "failed to register '%s', repository not found: %w", path, err)
}

// conflict returns why a path cannot be registered beside the others.
func (p *Paths) conflict(path string, known bool, names map[string]string) error {
	if known {
		return status.New(status.AlreadyExists, "model repository '%s' has already been registered", path)
	}
	for _, other := range p.added {
		for _, name := range names {
			if slices.Contains(slices.Collect(maps.Values(other)), name) {
				return status.New(status.AlreadyExists, "failed to register '%s', there is a conflicting mapping for '%s'", name, name)
			}
		}
	}
	return nil
}

// Unregister removes a path that Register added.
func (p *Paths) Unregister(path string) error {
	p.mu.Lock()
	if _, known := p.added[path]; !known {
		p.mu.Unlock()
		return status.New(status.InvalidArg, "failed to unregister '%s', repository not found", path)
	}
	delete(p.added, path)
	dropped := p.drop(path)
	p.mu.Unlock()
	closePlace(dropped)
	return nil
}

// place returns the place of a path, and opens it if it is not open.
func (p *Paths) place(path string) (Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place := p.places[path]; place != nil {
		return place, nil
	}
	place, err := p.open(path)
	if err != nil {
		return nil, err
	}
	p.places[path] = place
	return place, nil
}

// drop forgets the place of a path and returns it; nil: it is not open. The caller holds p.mu, and
// closes the place when it does not: that may wait for requests under way.
func (p *Paths) drop(path string) Place {
	place := p.places[path]
	delete(p.places, path)
	return place
}

func closePlace(place Place) {
	if place != nil {
		_ = place.Close() // nothing is lost: it only reads
	}
}

// Close closes all places.
func (p *Paths) Close() error {
	p.mu.Lock()
	all := p.places
	p.places = map[string]Place{}
	p.mu.Unlock()
	var errs []error
	for _, place := range all {
		errs = append(errs, place.Close())
	}
	return errors.Join(errs...)
}

// List returns the model folders of all paths. With an error it returns those of the paths that
// could be read, and of the others those of their last listing, if there is one. It asks all paths
// at the same time.
func (p *Paths) List(ctx context.Context) ([]Model, error) {
	roots := p.roots()
	var all sync.WaitGroup
	for i := range roots {
		all.Go(func() { roots[i].list(ctx, p) })
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := map[ID]int{}
	var models []Model
	var errs []error
	for _, r := range roots {
		errs = append(errs, r.err)
		for _, folder := range r.folders {
			if r.hides(folder) {
				continue
			}
			m := p.model(&r, folder)
			if before, twice := at[m.ID]; twice {
				models[before].Ambiguous = true
				continue
			}
			at[m.ID] = len(models)
			models = append(models, m)
		}
	}
	sort.Slice(models, func(i, j int) bool { return Compare(models[i].ID, models[j].ID) < 0 })
	return models, errors.Join(errs...)
}

// errForeign reports a model that another store has listed.
var errForeign = errors.New("the model is not of this store")

// Stamp identifies the content of a model. It is nil if the model's folder cannot be read.
func (p *Paths) Stamp(ctx context.Context, m Model) (Stamp, error) {
	if m.place == nil {
		return nil, errForeign
	}
	return m.place.Stamp(ctx, m.folder)
}

// Fetch returns a directory with the files of a model: its own, or one with copies.
func (p *Paths) Fetch(ctx context.Context, m Model, version string) (*Folder, error) {
	if m.place == nil {
		return nil, errForeign
	}
	return m.place.Fetch(ctx, m.folder, version)
}

// Activity returns what a fetch of a model is doing now, for users; empty if there is none that
// takes long.
func (p *Paths) Activity(m Model) string {
	if a, ok := m.place.(interface{ Activity(folder string) string }); ok {
		return a.Activity(m.folder)
	}
	return ""
}

func (p *Paths) namespace(path string) string {
	if p.namespaces {
		return path
	}
	return ""
}

// root is a repository path, the names of its models by folder, and a listing.
type root struct {
	path  string
	names map[string]string

	place   Place
	folders []string
	err     error
}

// roots returns the paths, sorted.
func (p *Paths) roots() []root {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []root
	for _, path := range p.paths {
		all = append(all, root{path: path})
	}
	for path, names := range p.added {
		all = append(all, root{path: path, names: names})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].path < all[j].path })
	return all
}

func (r *root) list(ctx context.Context, p *Paths) {
	if r.place, r.err = p.place(r.path); r.err == nil {
		r.folders, r.err = r.place.List(ctx)
		r.folders = slices.DeleteFunc(r.folders, r.passesOver)
	}
}

// passesOver reports whether a folder is not a model by its name, unless it was registered as one.
func (r *root) passesOver(folder string) bool {
	_, registered := r.names[folder]
	return !registered && modelconfig.PassedOver(folder)
}

// modelName returns the name of the model in a folder.
func (r *root) modelName(folder string) string {
	if name, ok := r.names[folder]; ok {
		return name
	}
	return folder
}

// hides reports whether a folder is ignored because its name was given to another folder.
func (r *root) hides(folder string) bool {
	if _, renamed := r.names[folder]; renamed {
		return false
	}
	return slices.Contains(slices.Collect(maps.Values(r.names)), folder)
}

func dedupe(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Roots returns the directories of this machine that hold models, sorted.
func (p *Paths) Roots() []string {
	var all []string
	for _, r := range p.roots() {
		place, err := p.place(r.path)
		if d, local := place.(dir); err == nil && local {
			all = append(all, string(d))
		}
	}
	return all
}
