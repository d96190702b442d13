package repository

import (
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// composingVersions returns the versions that an ensemble's steps use now, by step. It returns
// an error if the ensemble does not fit them.
func (r *Repository) composingVersions(c *layout.Content) ([]*model.LoadedVersion, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.desired.Cycle(c.ID()); err != nil {
		return nil, err
	}
	now := r.actual.Snapshot()
	steps := c.Config.GetEnsembleScheduling().GetStep()
	for i, id := range c.ComposingModels {
		if !r.desired.Has(id) && now.Model(id).Newest() == nil {
			return nil, status.New(status.InvalidArg, "ensemble %s contains models that are not available or ambiguous: %s", c.ID(), steps[i].GetModelName())
		}
	}
	var versions []*model.LoadedVersion
	for i, id := range c.ComposingModels {
		v, err := r.composingVersion(c.ID(), id, now.Model(id), steps[i].GetModelVersion())
		if err != nil {
			return nil, err
		}
		versions = append(versions, v)
	}
	return versions, c.Config.First(c.Config.ValidateComposing(func(step int) *inferencepb.ModelConfig { return versions[step].Config() }))
}

// composingVersion returns the version of model m that a step of an ensemble uses. id is the
// model's ID. The caller holds r.mu.
func (r *Repository) composingVersion(ensemble, id store.ID, m *state.Model, number int64) (*model.LoadedVersion, error) {
	if newest := m.Newest(); newest != nil {
		if number == -1 {
			return newest, nil
		}
		if v := m.Version(number); v != nil && v.State == state.VersionReady {
			return v.Loaded, nil
		}
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' whose required version %d is not loaded.", ensemble, id, number)
	}
	last := r.outcomes[id]
	switch {
	case !r.desired.Has(id) || last == nil || last.Err == nil:
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which has no loaded version.", ensemble, id)
	case len(r.desired.ComposingModels(id)) > 0:
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which is not valid. Model '%s' failed with error: %s", ensemble, id, id, last.Err)
	}
	return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which has no loaded version. Model '%s' loading failed with error: %s", ensemble, id, id, last.Err)
}

// composingLacksOnlyLibrary reports whether a composing model of an ensemble failed only
// because the library of a backend is missing.
func (r *Repository) composingLacksOnlyLibrary(c *layout.Content) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(c.ComposingModels, func(id store.ID) bool {
		last := r.outcomes[id]
		return r.desired.Has(id) && last != nil && lacksOnlyLibrary(last.Err)
	})
}
