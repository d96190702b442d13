package repository

import (
	"context"
	"slices"

	"triton/server/store"
)

// Roster are the models that requests may load, as a document names them. It is not changed.
type Roster struct {
	// Only says that requests load no models besides Models.
	Only bool
	// Models are the models of the document: whether they are pinned; nil: as the options and their
	// own settings say.
	Models map[string]*bool
}

// has reports whether requests may load a model. Without a roster they may load all.
func (o *Roster) has(name string) bool {
	if o == nil || !o.Only {
		return true
	}
	_, named := o.Models[name]
	return named
}

// SetRoster replaces the models that requests may load; nil: all. It neither loads nor unloads.
func (r *Repository) SetRoster(o *Roster) {
	r.roster.Store(o)
	if r.demand != nil {
		r.demand.Changed()
	}
}

// pins reports whether a model stays loaded: the roster decides, then the options and the model's own
// setting.
func (r *Repository) pins(name string, own bool) bool {
	if o := r.roster.Load(); o != nil && o.Models[name] != nil {
		return *o.Models[name]
	}
	return own || slices.Contains(r.opts.Demand.Pinned, name)
}

// PinnedByDefault reports which models the options or their own configurations pin. It leaves out those
// whose configurations cannot be read.
func (r *Repository) PinnedByDefault(ctx context.Context, names []string) map[string]bool {
	l := r.list(ctx)
	defer l.Release()
	pinned := map[string]bool{}
	for _, name := range names {
		if slices.Contains(r.opts.Demand.Pinned, name) {
			pinned[name] = true
		} else if m := l.Model(store.ID{Name: name}); m != nil && !m.Ambiguous {
			if s, err := r.settingsOf(ctx, l, *m); err == nil {
				pinned[name] = s.Pinned
			}
		}
	}
	return pinned
}

// NextConfig returns the configuration that the next load by a request has instead of the model's own;
// nil: its own.
func (r *Repository) NextConfig(name string) *string { return r.overrides.get(store.ID{Name: name}) }

// SetNextConfig replaces it. It does not change a model that is loaded.
func (r *Repository) SetNextConfig(name string, config *string) {
	r.overrides.keep(store.ID{Name: name}, config)
}

// Loadable returns the names of the models that requests may load, sorted: those of the last listing.
func (r *Repository) Loadable() (names []string) {
	listed := r.listed.Load()
	if listed == nil {
		return nil
	}
	for _, m := range *listed {
		if !m.Ambiguous && r.roster.Load().has(m.ID.Name) {
			names = append(names, m.ID.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
