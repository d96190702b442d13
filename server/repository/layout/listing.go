package layout

import (
	"context"
	"errors"
	"slices"
	"time"

	"triton/pkg/modelconfig"
	"triton/server/infer"
	"triton/server/stats"
	"triton/server/store"
)

// Listing is what one operation sees of the store: the store is listed once, or looks up each name
// once, and each model is read once. One goroutine uses it.
type Listing struct {
	Models []store.Model // sorted by ID; nil if names are looked up
	Err    error         // why a part of the store could not be listed
	took   time.Duration

	reader Reader
	look   bool                                     // names are looked up if the store can do so
	find   func(name string) ([]store.Model, error) // looks up a name; nil: the store was listed
	named  map[string][]store.Model                 // the models by name, as far as they were asked for; nil: Named was not called
	stamps map[store.ID]stamped
	read   map[store.ID]*readResult
}

type stamped struct {
	stamp store.Stamp
	err   error
}

// readResult is the content of a model, or the reason why it could not be read.
type readResult struct {
	override *string
	content  *Content
	complete bool // else only the configuration was parsed
	err      error
}

// List lists the models of the store.
func (r *Reader) List(ctx context.Context) *Listing {
	l := &Listing{reader: *r}
	l.Renew(ctx)
	return l
}

// Look returns the listing for an operation on a few models. It lists only stores that are no
// Lookups, or cannot look up names now.
func (r *Reader) Look(ctx context.Context) *Listing {
	l := &Listing{reader: *r, look: true}
	l.Renew(ctx)
	return l
}

// Renew lists the store again and drops the contents.
func (l *Listing) Renew(ctx context.Context) {
	l.Release()
	begin := time.Now()
	l.Models, l.Err, l.find = nil, nil, nil
	if f, ok := l.reader.Store.(Lookups); ok && l.look && ctx.Err() == nil {
		l.find = f.Lookup()
	}
	if l.find == nil {
		l.Models, l.Err = l.reader.Store.List(ctx)
	}
	l.took = time.Since(begin)
	l.named = nil
	l.stamps, l.read = map[store.ID]stamped{}, map[store.ID]*readResult{}
}

// Release gives up the listing's references to the folders of the contents.
func (l *Listing) Release() {
	for _, got := range l.read {
		if got.content != nil {
			got.content.Folder.Release()
		}
	}
	l.read = nil
}

// Looks reports whether the listing looks up names, so that it does not have all models.
func (l *Listing) Looks() bool { return l.find != nil }

// Found returns the models that were looked up.
func (l *Listing) Found() (all []store.Model) {
	if l.Looks() {
		for _, models := range l.named {
			all = append(all, models...)
		}
	}
	return all
}

// Model returns the model of an ID; nil when the store does not have it.
func (l *Listing) Model(id store.ID) *store.Model {
	if l.Looks() {
		return Find(l.Named(id.Name), id)
	}
	return Find(l.Models, id)
}

// Find returns the model of an ID; nil when the models, which are sorted by ID, do not have it.
func Find(models []store.Model, id store.ID) *store.Model {
	i, found := Search(models, id)
	if !found {
		return nil
	}
	return &models[i]
}

// Search returns the place of an ID in models that are sorted by ID.
func Search(models []store.Model, id store.ID) (i int, found bool) {
	return slices.BinarySearchFunc(models, id, func(m store.Model, id store.ID) int { return store.Compare(m.ID, id) })
}

// Named returns the models of a name, by namespace.
func (l *Listing) Named(name string) []store.Model {
	if l.Looks() {
		return l.lookUp(name)
	}
	if l.named == nil {
		l.named = make(map[string][]store.Model, len(l.Models))
		for _, m := range l.Models {
			l.named[m.ID.Name] = append(l.named[m.ID.Name], m)
		}
	}
	return l.named[name]
}

func (l *Listing) lookUp(name string) []store.Model {
	if all, known := l.named[name]; known {
		return all
	}
	all, err := l.find(name)
	if err != nil {
		l.Err = errors.Join(l.Err, err)
	}
	if l.named == nil {
		l.named = map[string][]store.Model{}
	}
	l.named[name] = all
	return all
}

// Stamp identifies the content of a model.
func (l *Listing) Stamp(ctx context.Context, m *store.Model) (store.Stamp, error) {
	got, known := l.stamps[m.ID]
	if !known {
		got.stamp, got.err = l.reader.Store.Stamp(ctx, *m)
		l.stamps[m.ID] = got
	}
	return got.stamp, got.err
}

// Restrict makes a stamp the stamp of a model: entries that it lacks are not seen. It is called before
// Content; the configuration alone may have been read.
func (l *Listing) Restrict(id store.ID, s store.Stamp) {
	l.stamps[id] = stamped{stamp: s}
	if got := l.read[id]; got != nil && got.content != nil {
		got.content.Stamp = s
	}
}

// Config returns the configuration of a model as its file has it; read-only.
func (l *Listing) Config(ctx context.Context, m *store.Model) (*modelconfig.Config, error) {
	got := l.open(ctx, m, nil)
	if got.err != nil {
		return nil, got.err
	}
	return got.content.Config, nil
}

// Content reads a model as far as that is possible without its backend. The listing holds
// the content's folder.
func (l *Listing) Content(ctx context.Context, m *store.Model, override *string) (*Content, error) {
	begin := time.Now()
	got := l.open(ctx, m, override)
	if got.err != nil || got.complete {
		return got.content, got.err
	}
	if err := l.reader.complete(ctx, got.content, got.content.Stamp); err != nil {
		got.content.Folder.Release()
		got.content, got.err = nil, err
		return nil, err
	}
	got.complete, got.content.ComposingModels = true, l.composingModels(got.content)
	got.content.Times[stats.PhaseList] = l.took
	got.content.Times.Add(stats.PhaseConfigure, begin)
	return got.content, nil
}

// Unpack reads the files that came with a load. The listing holds the content's folder.
func (l *Listing) Unpack(scratch *store.Scratch, name string, o infer.LoadOptions) (*Content, error) {
	c, err := l.reader.unpack(scratch, name, o)
	if err != nil {
		return nil, err
	}
	c.ComposingModels = l.composingModels(c)
	l.keep(c.ID(), &readResult{override: o.Config, content: c, complete: true})
	return c, nil
}

// StepNames returns the names of the models that the models of a name use as steps. With
// an override, the steps are those of the override.
func (l *Listing) StepNames(ctx context.Context, name string, override *string) []string {
	if override != nil {
		c, err := modelconfig.ParseJSON("", []byte(*override))
		if err != nil {
			return nil
		}
		return stepNames(c)
	}
	var all []string
	for _, m := range l.Named(name) {
		if got := l.open(ctx, &m, nil); got.err == nil {
			all = append(all, stepNames(got.content.Config)...)
		}
	}
	return all
}

// Steps returns the models that a model uses as steps, as far as the store has them. With an override,
// the steps are those of the override.
func (l *Listing) Steps(ctx context.Context, id store.ID, override *string) (all []store.ID) {
	var names []string
	if m := l.Model(id); override != nil {
		names = l.StepNames(ctx, id.Name, override)
	} else if m != nil {
		if got := l.open(ctx, m, nil); got.err == nil {
			names = stepNames(got.content.Config)
		}
	}
	for _, name := range names {
		if step := l.composingModel(id.Namespace, name); step.Name != "" {
			all = append(all, step)
		}
	}
	return all
}

// IDs returns the models of all names.
func (l *Listing) IDs() map[string][]store.ID {
	all := make(map[string][]store.ID, len(l.Models))
	for _, m := range l.Models {
		all[m.ID.Name] = append(all[m.ID.Name], m.ID)
	}
	return all
}

// open parses the configuration of a model. It takes the stamp first, so that a change of
// the files after that makes the stamp differ.
func (l *Listing) open(ctx context.Context, m *store.Model, override *string) *readResult {
	if got := l.read[m.ID]; got != nil && got.override == override {
		return got
	}
	var c *Content
	stamp, err := l.Stamp(ctx, m)
	if err == nil {
		c, err = l.reader.open(ctx, *m, stamp, override)
	}
	return l.keep(m.ID, &readResult{override: override, content: c, err: err})
}

func (l *Listing) keep(id store.ID, got *readResult) *readResult {
	if before := l.read[id]; before != nil && before.content != nil {
		before.content.Folder.Release()
	}
	l.read[id] = got
	return got
}

// composingModels returns the models of an ensemble's steps, by step; nil for other models.
func (l *Listing) composingModels(c *Content) []store.ID {
	var all []store.ID
	for _, name := range stepNames(c.Config) {
		all = append(all, l.composingModel(c.ID().Namespace, name))
	}
	return all
}

// Relinked reports whether the steps of an ensemble mean other models than when it was read.
func (l *Listing) Relinked(c *Content) bool {
	return !slices.Equal(c.ComposingModels, l.composingModels(c))
}

// composingModel finds the model of a step of an ensemble in a namespace: the model of that
// namespace, or the only model of the name. It returns the zero ID if there is no such model.
func (l *Listing) composingModel(namespace, name string) store.ID {
	if !l.reader.Namespacing {
		return store.ID{Name: name}
	}
	found := l.Named(name)
	for _, m := range found {
		if m.ID.Namespace == namespace {
			return m.ID
		}
	}
	if len(found) == 1 {
		return found[0].ID
	}
	return store.ID{}
}
