package server

import (
	"context"
	"slices"
	"strings"

	"triton/pkg/fleetstate"
	"triton/server/fleet"
	"triton/server/repository"
)

// stateDemand are the models that requests load, for the controller of the desired state.
type stateDemand struct{ models stateModels }

var _ fleet.Demand = stateDemand{}

// Know makes the models of a document those that requests may load.
func (d stateDemand) Know(doc *fleetstate.Document) {
	o := &repository.Roster{Only: doc.Pruned(), Models: map[string]*bool{}}
	for name, m := range doc.Models {
		o.Models[name] = m.Pin
	}
	d.models.SetRoster(o)
}

// Known returns the models that requests may load.
func (d stateDemand) Known() []fleet.Model {
	all := slices.DeleteFunc(d.models.Loaded(), func(m fleet.Model) bool { return m.Composing || !m.Serves })
	for _, name := range d.models.Loadable() {
		if !slices.ContainsFunc(all, func(m fleet.Model) bool { return m.Name == name }) {
			all = append(all, fleet.Model{Name: name, Override: d.models.NextConfig(name)})
		}
	}
	slices.SortFunc(all, func(a, b fleet.Model) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Pinned reports which models a flag or their own configurations pin.
func (d stateDemand) Pinned(ctx context.Context, names []string) map[string]bool {
	return d.models.PinnedByDefault(ctx, names)
}

// Next returns what replaces the configuration of a model that is not loaded.
func (d stateDemand) Next(name string) *string { return d.models.NextConfig(name) }

// SetNext replaces it.
func (d stateDemand) SetNext(name string, config *string) { d.models.SetNextConfig(name, config) }
