package plan

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/server/repository/layout"
	"triton/server/store"
)

// Ready is a ready version and the content that it was loaded from.
type Ready struct {
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

// Versions returns the changes that the load of a content makes: first to the versions that
// the policy picks, then to ready versions that it no longer picks.
func Versions(c *layout.Content, ready []Ready) []Change {
	var all []Change
	for _, picked := range c.Versions {
		change := Change{picked, Load}
		if i := slices.IndexFunc(ready, func(r Ready) bool { return r.Number == picked.Number }); i >= 0 {
			change.Do = compare(c, picked, &ready[i])
		}
		all = append(all, change)
	}
	for _, r := range ready {
		if !slices.ContainsFunc(c.Versions, func(v layout.Version) bool { return v.Number == r.Number }) {
			all = append(all, Change{layout.Version{Number: r.Number}, Retire})
		}
	}
	return all
}

// compare returns the action on a ready version. An ensemble is always loaded again,
// because its composing models may have other versions, and so is a model with repository agents,
// because they were told of a load.
func compare(c *layout.Content, v layout.Version, r *Ready) Verb {
	if c.Ensemble() || c.Agents != nil || r.Broken || r.Origin != c.Origin(v) || !r.Stamp.SameFor(c.Stamp, v.Name, c.ConfigEntry) {
		return Load
	}
	before, now := proto.CloneOf(r.Config), proto.CloneOf(c.Config.ModelConfig)
	if proto.Equal(before, now) {
		return Keep
	}
	for _, cfg := range []*inferencepb.ModelConfig{before, now} {
		cfg.InstanceGroup, cfg.VersionPolicy = nil, nil
	}
	if proto.Equal(before, now) {
		return ReplaceInstances
	}
	return Load
}
