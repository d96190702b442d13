package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/model"
	"triton/server/repository/actual"
	"triton/server/repository/layout"
	"triton/server/repository/plan"
	"triton/server/store"
)

// job is a change under way.
type job struct {
	plan.Change
	old     *model.Loaded // serves now; nil: none does
	version *model.Loaded // the result
	err     error
}

// failure is that a model does not serve as it should.
type failure struct {
	text string
	// engine is that nothing but a backend's own library is missing.
	engine bool
}

func (f *failure) Error() string { return f.text }

// lacksEngine reports whether a load failed because nothing but the library of a
// backend is missing.
func lacksEngine(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.engine
}

// apply loads the versions of a model. They serve together or not at all: when one
// fails those that served before go on.
func (r *Repository) apply(ctx context.Context, c *layout.Content) error {
	err := r.bring(ctx, c)
	now := &plan.Outcome{Location: c.From.Location, Stamp: c.Stamp, Override: c.Override}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		now = &plan.Outcome{Err: err}
		if old := r.outcomes[c.ID()]; old != nil {
			now.Location, now.Stamp, now.Override = old.Location, old.Stamp, old.Override
		}
		if c.Ensemble() {
			now.Stamp = nil // it does not serve, whatever its files are
		}
	}
	r.outcomes[c.ID()] = now
	return err
}

func (r *Repository) bring(ctx context.Context, c *layout.Content) error {
	var fits []*model.Loaded
	err := r.explain(c)
	if err == nil && c.Ensemble() {
		if fits, err = r.fit(c); err != nil {
			r.opts.Log.Error(reasonOf(err), modelconfig.Details(err)...)
			r.withdraw(c.ID(), true)
			return &failure{text: err.Error(), engine: r.partLacksEngine(c)}
		}
	}
	if err != nil {
		r.opts.Log.Error(fmt.Sprintf("failed to load model '%s': %s", c.ID(), err))
		r.actual.Change(c.ID(), func(m *actual.Model) { m.Desired = true })
		return &failure{text: err.Error()}
	}
	jobs := r.begun(c)
	var wg sync.WaitGroup
	for _, j := range jobs {
		if j.Do == plan.Retire {
			continue
		}
		r.opts.Log.Info(fmt.Sprintf("loading: %s:%d", c.ID(), j.Number))
		if j.Do != plan.Keep {
			wg.Go(func() { r.run(ctx, c, j, fits) })
		}
	}
	wg.Wait()
	return r.commit(c, jobs)
}

// explain logs what is odd about the versions. The error says that there are none.
func (r *Repository) explain(c *layout.Content) error {
	for _, why := range c.Ignored {
		r.opts.Log.Warn(why)
	}
	for _, n := range c.Missing {
		r.opts.Log.Error(fmt.Sprintf("version %d is specified for model '%s', but the version directory is not present", n, c.ID()))
	}
	if len(c.Versions) == 0 {
		return status.New(status.InvalidArg, "at least one version must be available under the version policy of model '%s'", c.ID())
	}
	return nil
}

// begun decides about each version; new ones are in the index from now on.
func (r *Repository) begun(c *layout.Content) []*job {
	all := plan.Versions(c, r.ready(c.ID()))
	jobs := make([]*job, len(all))
	r.actual.Change(c.ID(), func(m *actual.Model) {
		m.Desired = true
		for i, change := range all {
			jobs[i] = &job{Change: change}
			if v := m.Add(change.Number); v.State == actual.Ready {
				jobs[i].old = v.Loaded
			} else {
				v.State, v.Reason, v.Loaded = actual.Loading, "", nil
			}
		}
	})
	return jobs
}

// ready returns the ready versions of a model for a plan.
func (r *Repository) ready(id store.ID) []plan.Ready {
	var all []plan.Ready
	for _, v := range r.actual.Snapshot().Model(id).Ready() {
		from := v.From()
		all = append(all, plan.Ready{
			Number: v.Number(), Origin: from.Origin, Config: from.Config, Stamp: from.Stamp, Broken: v.Broken(),
		})
	}
	return all
}

// run loads a version, again and again if it may.
func (r *Repository) run(ctx context.Context, c *layout.Content, j *job, fits []*model.Loaded) {
	select {
	case r.loading <- struct{}{}:
		defer func() { <-r.loading }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		j.err = status.New(status.Unavailable, "loading was ended: %w", context.Cause(ctx))
		return
	}
	for range max(r.opts.LoadRetries, 0) + 1 {
		if j.version, j.err = r.build(ctx, c, j, fits); j.err == nil || ctx.Err() != nil {
			return
		}
	}
}

// build makes the version of a job.
func (r *Repository) build(ctx context.Context, c *layout.Content, j *job, fits []*model.Loaded) (*model.Loaded, error) {
	s := model.Source{
		ID: c.ID(), Number: j.Number, Version: j.Name, ConfigEntry: c.ConfigEntry, Config: c.Config,
		From: model.Provenance{Origin: c.Origin(j.Version), Config: c.Config.ModelConfig, Stamp: c.Stamp},
	}
	switch {
	case j.Do == plan.Regroup:
		return r.builder.Regroup(ctx, s, j.old)
	case c.Ensemble():
		s.Folder, s.Models = c.Folder, r.actual.Steps(stepIDs(c))
		return r.builder.Assemble(s, fits, j.old)
	}
	folder, err := c.Fetch(ctx, r.reader.Store, j.Name)
	if err != nil {
		r.opts.Log.Error(fmt.Sprintf("failed to load '%s' version %d: %s", c.ID(), j.Number, reasonOf(err)))
		return nil, err
	}
	defer folder.Release() // the version holds it
	s.Folder, s.Models = folder, r.actual.Engine(c.ID().Space)
	return r.builder.Load(ctx, s)
}

// stepIDs returns the IDs of the models of an ensemble's steps by their names.
func stepIDs(c *layout.Content) map[string]store.ID {
	ids := map[string]store.ID{}
	for i, step := range c.Config.GetEnsembleScheduling().GetStep() {
		ids[step.GetModelName()] = c.Parts[i]
	}
	return ids
}

// reasonOf is an error as the index and the log show it.
func reasonOf(err error) string { return status.From(err).Text() }

// commit publishes what the jobs have brought, or undoes it.
func (r *Repository) commit(c *layout.Content, jobs []*job) error {
	var bad *failure
	var text strings.Builder
	engine := true
	for _, j := range jobs {
		if j.err != nil {
			fmt.Fprintf(&text, "version %d is at %s state: %s;", j.Number, actual.Unavailable, reasonOf(j.err))
			engine = engine && errors.Is(j.err, backend.ErrNoEngine)
		}
	}
	var leaving []*model.Loaded
	if text.Len() > 0 {
		bad = &failure{text.String(), engine}
		r.actual.Change(c.ID(), func(m *actual.Model) { leaving = undo(m, jobs) })
		r.opts.Log.Info(fmt.Sprintf("failed to load '%s'", c.ID()))
	} else {
		r.actual.Change(c.ID(), func(m *actual.Model) { leaving = adopt(m, jobs) })
		r.opts.Log.Info(fmt.Sprintf("successfully loaded '%s'", c.ID()))
	}
	for _, v := range leaving {
		r.retire(c.ID(), v)
	}
	if bad != nil {
		return bad
	}
	return nil
}

// undo takes back what was loaded beside a version that failed. It returns the
// versions to close.
func undo(m *actual.Model, jobs []*job) (leaving []*model.Loaded) {
	for _, j := range jobs {
		if j.version != nil {
			leaving = append(leaving, j.version)
		}
		if j.old != nil {
			continue
		}
		v := m.Version(j.Number)
		if j.err != nil {
			v.State, v.Reason = actual.Unavailable, reasonOf(j.err)
		} else {
			v.State, v.Loaded = actual.Unloading, j.version
		}
	}
	return leaving
}

// adopt puts the new versions in the place of the others. It returns the versions
// to close.
func adopt(m *actual.Model, jobs []*job) (leaving []*model.Loaded) {
	for _, j := range jobs {
		v := m.Version(j.Number)
		switch j.Do {
		case plan.Keep:
			continue
		case plan.Retire:
			v.State = actual.Unloading
		case plan.Load, plan.Regroup:
			v.State, v.Reason, v.Loaded = actual.Ready, "", j.version
		}
		if j.old != nil {
			if j.Do == plan.Regroup {
				j.old.Replace()
			}
			leaving = append(leaving, j.old)
		}
	}
	return leaving
}

// fit checks an ensemble with the models of its steps as they serve now.
func (r *Repository) fit(c *layout.Content) ([]*model.Loaded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.desired.Cycle(c.ID()); err != nil {
		return nil, err
	}
	now := r.actual.Snapshot()
	all := c.Config.GetEnsembleScheduling().GetStep()
	for i, id := range c.Parts {
		if !r.desired.Has(id) && now.Model(id).Newest() == nil {
			return nil, status.New(status.InvalidArg, "ensemble %s contains models that are not available or ambiguous: %s", c.ID(), all[i].GetModelName())
		}
	}
	var parts []*model.Loaded
	for i, id := range c.Parts {
		v, err := r.readyPart(c, now.Model(id), id, all[i].GetModelVersion())
		if err != nil {
			return nil, err
		}
		parts = append(parts, v)
	}
	return parts, c.Config.First(c.Config.ValidateParts(func(step int) *inferencepb.ModelConfig { return parts[step].Config() }))
}

// readyPart returns the version of m, the model of an ID, that a step uses. The caller holds
// r.mu.
func (r *Repository) readyPart(c *layout.Content, m *actual.Model, id store.ID, number int64) (*model.Loaded, error) {
	if newest := m.Newest(); newest != nil {
		if number == -1 {
			return newest, nil
		}
		if v := m.Version(number); v != nil && v.State == actual.Ready {
			return v.Loaded, nil
		}
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' whose required version %d is not loaded.", c.ID(), id, number)
	}
	o := r.outcomes[id]
	switch {
	case !r.desired.Has(id) || o == nil || o.Err == nil:
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which has no loaded version.", c.ID(), id)
	case len(r.desired.Parts(id)) > 0:
		return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which is not valid. Model '%s' failed with error: %s", c.ID(), id, id, o.Err)
	}
	return nil, status.New(status.InvalidArg, "ensemble '%s' depends on '%s' which has no loaded version. Model '%s' loading failed with error: %s", c.ID(), id, id, o.Err)
}

// partLacksEngine reports whether a model of a step cannot serve for that reason.
func (r *Repository) partLacksEngine(c *layout.Content) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(c.Parts, func(id store.ID) bool {
		o := r.outcomes[id]
		return r.desired.Has(id) && o != nil && lacksEngine(o.Err)
	})
}
