package repository

import (
	"context"

	"triton/server/repository/layout"
	"triton/server/repository/plan"
	"triton/server/store"
)

// list lists the models of the store.
func (r *Repository) list(ctx context.Context) *layout.Listing {
	l := r.reader.List(ctx)
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
	if l.Err == nil {
		models := l.Models
		r.listed.Store(&models)
	}
}

// allFindings returns a finding for each model of a listing.
func allFindings(l *layout.Listing) []plan.Finding {
	all := make([]plan.Finding, len(l.Models))
	for i, m := range l.Models {
		all[i].ID = m.ID
	}
	return all
}

// namedFindings returns a finding for each model of a name. If the store has none, it returns
// one finding, for a model without a namespace.
func namedFindings(l *layout.Listing, name string) []plan.Finding {
	var all []plan.Finding
	for _, m := range l.Named(name) {
		all = append(all, plan.Finding{ID: m.ID, Named: true})
	}
	if len(all) == 0 {
		all = append(all, plan.Finding{ID: store.ID{Name: name}, Named: true})
	}
	return all
}
