package repository

import (
	"context"
	"slices"

	"triton/server/infer"
	"triton/server/store"
)

// listing is the store as one operation sees it: listed once, and each model of it
// looked at once.
type listing struct {
	reader
	models []store.Model
	err    error // some part of the store could not be listed

	stamps map[store.ID]stamped
	read   map[store.ID]*reading
}

type stamped struct {
	stamp store.Stamp
	err   error
}

// reading is a content, or why there is none.
type reading struct {
	override *string
	content  *content
	whole    bool // else only the configuration was parsed
	err      error
}

// list asks the store for its models.
func (r *Repository) list(ctx context.Context) *listing {
	l := &listing{reader: r.reader}
	r.relist(ctx, l)
	return l
}

// relist asks the store again, for an operation that had to wait: what was found
// before may be older than what the operation before it has loaded.
func (r *Repository) relist(ctx context.Context, l *listing) {
	l.release()
	l.models, l.err = r.reader.store.List(ctx)
	if l.err == nil {
		models := l.models
		r.listed.Store(&models)
	}
	l.stamps, l.read = map[store.ID]stamped{}, map[store.ID]*reading{}
}

// release gives up the contents that nobody else holds.
func (l *listing) release() {
	for _, got := range l.read {
		if got.content != nil {
			got.content.folder.Release()
		}
	}
	l.read = nil
}

// at returns the model of an ID; nil when the store does not have it.
func (l *listing) at(id store.ID) *store.Model {
	i, found := slices.BinarySearchFunc(l.models, id, func(m store.Model, id store.ID) int { return store.Compare(m.ID, id) })
	if !found {
		return nil
	}
	return &l.models[i]
}

// named returns the models of a name, by space.
func (l *listing) named(name string) []store.Model {
	var all []store.Model
	for _, m := range l.models {
		if m.ID.Name == name {
			all = append(all, m)
		}
	}
	return all
}

// all returns every model for an operation that wants them all.
func (l *listing) all() []finding {
	all := make([]finding, len(l.models))
	for i, m := range l.models {
		all[i].id = m.ID
	}
	return all
}

// asked returns the models of a name for an operation that wants it; one that the
// store does not have when there is none.
func (l *listing) asked(name string) []finding {
	var all []finding
	for _, m := range l.named(name) {
		all = append(all, finding{id: m.ID, named: true})
	}
	if len(all) == 0 {
		all = append(all, finding{id: store.ID{Name: name}, named: true})
	}
	return all
}

// stamp identifies the content of a model.
func (l *listing) stamp(ctx context.Context, m *store.Model) (store.Stamp, error) {
	got, known := l.stamps[m.ID]
	if !known {
		got.stamp, got.err = l.store.Stamp(ctx, *m)
		l.stamps[m.ID] = got
	}
	return got.stamp, got.err
}

// open parses the configuration of a model, after its stamp.
func (l *listing) open(ctx context.Context, m *store.Model, override *string) *reading {
	if got := l.read[m.ID]; got != nil && got.override == override {
		return got
	}
	var c *content
	stamp, err := l.stamp(ctx, m)
	if err == nil {
		c, err = l.reader.open(ctx, *m, stamp, override)
	}
	return l.keep(m.ID, &reading{override: override, content: c, err: err})
}

// content reads a model as far as it can be known.
func (l *listing) content(ctx context.Context, m *store.Model, override *string) (*content, error) {
	got := l.open(ctx, m, override)
	if got.err != nil || got.whole {
		return got.content, got.err
	}
	if err := l.complete(ctx, got.content, got.content.stamp); err != nil {
		got.content.folder.Release()
		got.content, got.err = nil, err
		return nil, err
	}
	got.whole, got.content.parts = true, l.parts(got.content)
	return got.content, nil
}

// unpack reads the files that came with a load.
func (l *listing) unpack(scratch *store.Scratch, name string, o infer.LoadOptions) (*content, error) {
	c, err := l.reader.unpack(scratch, name, o)
	if err != nil {
		return nil, err
	}
	c.parts = l.parts(c)
	l.keep(c.id(), &reading{override: o.Config, content: c, whole: true})
	return c, nil
}

func (l *listing) keep(id store.ID, got *reading) *reading {
	if before := l.read[id]; before != nil && before.content != nil {
		before.content.folder.Release()
	}
	l.read[id] = got
	return got
}

// parts returns the models of an ensemble's steps, by step; nil for other models.
func (l *listing) parts(c *content) []store.ID {
	var all []store.ID
	for _, s := range c.config.GetEnsembleScheduling().GetStep() {
		all = append(all, l.part(c.id().Space, s.GetModelName()))
	}
	return all
}

// part finds a model for an ensemble in a space: there, or else wherever there is
// just one. One that its name does not tell has the zero ID.
func (l *listing) part(space, name string) store.ID {
	if !l.namespaces {
		return store.ID{Name: name}
	}
	found := l.named(name)
	for _, m := range found {
		if m.ID.Space == space {
			return m.ID
		}
	}
	if len(found) == 1 {
		return found[0].ID
	}
	return store.ID{}
}
