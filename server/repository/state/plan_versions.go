package state

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/server/repository/layout"
	"triton/server/store"
)

// ReadyVersion is a ready version and the content that it was loaded from.
type ReadyVersion struct {
	Number int64
	Origin string                   // the version's folder in the store
	Config *inferencepb.ModelConfig // before the backend completed it
	Stamp  store.Stamp
	Broken bool // it has lost all its instances
}

// Change is the action of a load on one version.
type Change struct {
	layout.Version
	Do Verb
}

// PlanVersions returns the changes that the load of a content makes: first to the versions that
// the policy picks, then to ready versions that it no longer picks.
func PlanVersions(c *layout.Content, ready []ReadyVersion) []Change {
	var all []Change
	for _, picked := range c.Versions {
		change := Change{picked, VerbLoad}
		if i := slices.IndexFunc(ready, func(r ReadyVersion) bool { return r.Number == picked.Number }); i >= 0 {
			change.Do = compareVersion(c, picked, &ready[i])
		}
		all = append(all, change)
	}
	for _, r := range ready {
		if !slices.ContainsFunc(c.Versions, func(v layout.Version) bool { return v.Number == r.Number }) {
			all = append(all, Change{layout.Version{Number: r.Number}, VerbRetire})
		}
	}
	return all
}

// compareVersion returns the action on a ready version. An ensemble is always loaded again,
// because its composing models may have other versions, and so is a model with repository agents,
// because they were told of a load.
func compareVersion(c *layout.Content, v layout.Version, r *ReadyVersion) Verb {
	if c.Ensemble() || c.Agents != nil || r.Broken || r.Origin != c.Origin(v) || !r.Stamp.SameFor(c.Stamp, v.Name, c.ConfigEntry) {
		return VerbLoad
	}
	before, now := proto.CloneOf(r.Config), proto.CloneOf(c.Config.ModelConfig)
	if proto.Equal(before, now) {
		return VerbKeep
	}
	for _, cfg := range []*inferencepb.ModelConfig{before, now} {
		cfg.InstanceGroup, cfg.VersionPolicy = nil, nil
	}
	if proto.Equal(before, now) {
		return VerbReplaceInstances
	}
	return VerbLoad
}
