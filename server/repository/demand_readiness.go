package repository

import (
	"slices"

	"triton/server/readiness"
	"triton/server/store"
)

// reasonsOnDemand returns why a server that loads models on demand is not ready. A model that the next
// request would load is as good as one that serves: were the server not ready without it, no
// request would come. So the policies for all models need the pinned ones, and the others need
// that their models serve or could be loaded.
func (r *Repository) reasonsOnDemand(p *readiness.Policy, all []readiness.Version) []string {
	switch p.Mode {
	case readiness.Triton, readiness.Strict:
		pinned := readiness.Policy{Mode: readiness.Required}
		for _, name := range r.pinned() {
			pinned.Models = append(pinned.Models, readiness.Need{Name: name})
		}
		return pinned.Reasons(all)
	case readiness.Any:
		if reasons := p.Reasons(all); len(reasons) > 0 && !r.someLoadable() {
			return reasons
		}
	case readiness.Required:
		left := readiness.Policy{Mode: readiness.Required}
		for _, n := range p.Models {
			one := readiness.Policy{Mode: readiness.Required, Models: []readiness.Need{n}}
			if len(one.Reasons(all)) > 0 && !r.loadable(n.Name, n.Version) {
				left.Models = append(left.Models, n)
			}
		}
		return left.Reasons(all)
	case readiness.Live:
	}
	return nil
}

// someLoadable reports whether a request could load one of the models of the last listing. It reads no
// files: there may be thousands of models.
func (r *Repository) someLoadable() bool {
	listed := r.listed.Load()
	return listed != nil && slices.ContainsFunc(*listed, func(m store.Model) bool {
		return !m.Ambiguous && r.loadsOnRequest(m.ID.Name)
	})
}

// pinned returns the names of the models that the server keeps loaded.
func (r *Repository) pinned() []string {
	names := slices.DeleteFunc(slices.Clone(r.opts.Demand.Pinned), func(name string) bool {
		return !r.roster.Load().has(name) || !r.pins(name, true)
	})
	for _, m := range r.actual.Snapshot().Models() {
		if v := m.Newest(); v != nil && r.pins(m.ID.Name, v.Residency().Pinned) && !slices.Contains(names, m.ID.Name) {
			names = append(names, m.ID.Name)
		}
	}
	return names
}
