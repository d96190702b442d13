package repository

import (
	"triton/pkg/inferencepb"
)

// Index lists what the repository's directories hold now and how it fares. A
// model that stands in several directories is listed in any case; one that
// stands in none any more is not, though it may still serve.
func (r *Repository) Index(readyOnly bool) *inferencepb.RepositoryIndexResponse {
	out := &inferencepb.RepositoryIndexResponse{}
	add := func(e *inferencepb.RepositoryIndexResponse_ModelIndex) { out.Models = append(out.Models, e) }
	view := r.view.Load()
	for _, f := range r.present() {
		m := view.named(f.ID)
		switch {
		case f.Ambiguous:
			add(&inferencepb.RepositoryIndexResponse_ModelIndex{
				Name: f.ID.Name, State: string(stateUnavailable), Reason: "model appears in two or more repositories",
			})
		case m == nil && !readyOnly:
			add(&inferencepb.RepositoryIndexResponse_ModelIndex{Name: f.ID.Name})
		case m != nil:
			for _, e := range m.entries {
				if e.state == stateReady || !readyOnly {
					add(&inferencepb.RepositoryIndexResponse_ModelIndex{
						Name: f.ID.Name, Version: e.text, State: string(e.state), Reason: e.explain(),
					})
				}
			}
		}
	}
	return out
}

// Status is what became of one version, or of a model without any.
type Status struct {
	Model   string
	Version string // empty: none was found
	Ready   bool
	Reason  string
}

// Status lists all versions by model name and number.
func (r *Repository) Status() []Status {
	var all []Status
	for _, m := range r.view.Load().order {
		if len(m.entries) == 0 {
			all = append(all, Status{Model: m.label, Reason: "Not loaded: No model version was found"})
		}
		for _, e := range m.entries {
			all = append(all, Status{Model: m.label, Version: e.text, Ready: e.state == stateReady, Reason: e.explain()})
		}
	}
	return all
}
