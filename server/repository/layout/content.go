package layout

import (
	"context"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/repository/agents"
	"triton/server/stats"
	"triton/server/store"
)

// Content is a model in the store, or one that came with a load, as far as it is known
// without its backend. A Listing makes it in two steps, open and complete, and may restrict its stamp in
// between; it is immutable once Listing.Content has returned it.
type Content struct {
	From   store.Model
	Config *modelconfig.Config
	// ConfigEntry is the file or folder in Folder that has the configuration.
	ConfigEntry string
	Stamp       store.Stamp
	// Folder has the files beside the versions. If the files came with a load, it has the
	// versions too.
	Folder *store.Folder
	// Override replaces the configuration in the folder; nil: it does not.
	Override *string
	// ComposingModels are the models of an ensemble's steps, by step.
	ComposingModels []store.ID
	// Versions are the versions that the policy picks, ascending.
	Versions []Version
	// Missing are the versions that the policy names and that have no folder.
	Missing []int64
	// Ignored has a warning for each folder that is not a version.
	Ignored []string

	// Times are how long the store was listed, and the model read.
	Times stats.LoadTimes

	// Agents are the repository agents of this load; nil: the model has none. They end with Folder.
	Agents *agents.Chain

	uploaded bool // the files came with a load
}

// Version is a version folder.
type Version struct {
	Number int64
	Name   string
}

// ID returns the model's ID.
func (c *Content) ID() store.ID { return c.From.ID }

// Ensemble reports whether the model is an ensemble.
func (c *Content) Ensemble() bool { return c.Config.GetEnsembleScheduling() != nil }

// Uploaded reports whether the files came with a load: the store does not have them.
func (c *Content) Uploaded() bool { return c.uploaded }

// Origin returns where the store keeps a version.
func (c *Content) Origin(v Version) string { return c.From.Location + "/" + v.Name }

// Fetch returns a directory with one version. The caller holds it.
func (c *Content) Fetch(ctx context.Context, s Store, version string) (*store.Folder, error) {
	if c.uploaded || c.Agents.Dir() != "" {
		return c.Folder.Hold(), nil
	}
	f, err := s.Fetch(ctx, c.From, version)
	if err != nil {
		return nil, status.New(status.Internal, "fetching model '%s' from its store: %w", c.ID(), err)
	}
	if c.Agents == nil {
		return f, nil
	}
	whole := c.Folder.Hold() // the agents end after the last version
	held := store.NewFolder(f.Dir, func() {
		f.Release()
		whole.Release()
	})
	held.Fixed = f.Fixed
	return held, nil
}

// stepNames returns the names of the models that an ensemble's steps use.
func stepNames(c *modelconfig.Config) []string {
	var all []string
	for _, s := range c.GetEnsembleScheduling().GetStep() {
		all = append(all, s.GetModelName())
	}
	return all
}
