package server

import (
	"context"
	"slices"
	"strings"

	"triton/pkg/fleetstate"
	"triton/server/fleet"
	"triton/server/repository"
)

// fleetDemand are the models that requests load, for the controller of the fleet state.
type fleetDemand struct{ models fleetModels }

var _ fleet.Demand = fleetDemand{}

// Know makes the models of a document those that requests may load.
func (d fleetDemand) Know(doc *fleetstate.Document) {
	o := &repository.Roster{Only: doc.Pruned(), Models: map[string]*bool{}}
	for name, m := range doc.Models {
		o.Models[name] = m.Pin
	}
	d.models.SetRoster(o)
}

// Known returns the models that requests may load.
func (d fleetDemand) Known() []fleet.Model {
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
func (d fleetDemand) Pinned(ctx context.Context, names []string) map[string]bool {
	return d.models.PinnedByDefault(ctx, names)
}

// Next returns what replaces the configuration of a model that is not loaded.
func (d fleetDemand) Next(name string) *string { return d.models.NextConfig(name) }

// SetNext replaces it.
func (d fleetDemand) SetNext(name string, config *string) { d.models.SetNextConfig(name, config) }
