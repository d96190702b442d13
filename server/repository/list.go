package repository

import (
	"context"
	"slices"

	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// list lists the models of the store.
func (r *Repository) list(ctx context.Context) *layout.Listing {
	l := r.reader.List(ctx)
	r.keepListing(l)
	return l
}

// look returns the listing for the load of one model. In explicit control it does not list a
// store that finds single models, so that the cost of a load does not grow with the store.
func (r *Repository) look(ctx context.Context) *layout.Listing {
	if r.opts.Control != ControlExplicit {
		return r.list(ctx)
	}
	l := r.reader.Look(ctx)
	r.keepListing(l)
	return l
}

// relist lists the store again.
func (r *Repository) relist(ctx context.Context, l *layout.Listing) {
	l.Renew(ctx)
	r.keepListing(l)
}

// keepListing keeps the models of a complete listing for the index.
func (r *Repository) keepListing(l *layout.Listing) {
	if l.Err == nil && !l.Looks() {
		models := l.Models
		r.listed.Store(&models)
		if r.demand != nil && r.opts.Namespacing {
			names := l.IDs()
			r.names.Store(&names)
		}
	}
}

// keepFound adds the models that an operation has looked up to those of the last listing.
func (r *Repository) keepFound(l *layout.Listing) {
	for _, m := range l.Found() {
		for {
			before := r.listed.Load()
			if before == nil || layout.Find(*before, m.ID) != nil {
				break
			}
			i, _ := layout.Search(*before, m.ID)
			if models := slices.Insert(slices.Clone(*before), i, m); r.listed.CompareAndSwap(before, &models) {
				break
			}
		}
	}
}

// listedAs returns the models of a name in the last listing.
func (r *Repository) listedAs(name string) []store.ID {
	if names := r.names.Load(); names != nil {
		return (*names)[name]
	}
	return nil
}

// allFindings returns a finding for each model of a listing.
func allFindings(l *layout.Listing) []state.Finding {
	all := make([]state.Finding, len(l.Models))
	for i, m := range l.Models {
		all[i].ID = m.ID
	}
	return all
}

// findings returns a finding for the model of an ID. An ID without a namespace stands for all models of
// the name.
func findings(l *layout.Listing, id store.ID) []state.Finding {
	if id.Namespace == "" {
		return namedFindings(l, id.Name)
	}
	return []state.Finding{{ID: id, Named: true}}
}

// namedFindings returns a finding for each model of a name. If the store has none, it returns
// one finding, for a model without a namespace.
func namedFindings(l *layout.Listing, name string) []state.Finding {
	var all []state.Finding
	for _, m := range l.Named(name) {
		all = append(all, state.Finding{ID: m.ID, Named: true})
	}
	if len(all) == 0 {
		all = append(all, state.Finding{ID: store.ID{Name: name}, Named: true})
	}
	return all
}
