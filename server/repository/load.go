package repository

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/stats"
	"triton/server/store"
)

// loadError is the error of a load.
type loadError struct {
	text string
	// failed are the versions that failed, with the reason of each; nil: the model as a whole.
	failed []failedVersion
	// onlyLibrary reports that only the library of a backend is missing.
	onlyLibrary bool
}

func (e *loadError) Error() string { return e.text }

type failedVersion struct {
	number int64
	reason string
}

// lacksOnlyLibrary reports whether a load failed only because the library of a backend is
// missing.
func lacksOnlyLibrary(err error) bool {
	var e *loadError
	return errors.As(err, &e) && e.onlyLibrary
}

// loadModel loads the versions of a model and records the outcome. The versions serve
// together or not at all: if one fails, the versions that served before continue to serve.
func (r *Repository) loadModel(ctx context.Context, c *layout.Content) error {
	err := r.loadVersions(ctx, c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.outcomes[c.ID()] = r.outcomes[c.ID()].Failed(err, c.Ensemble())
	} else {
		r.outcomes[c.ID()] = &state.Outcome{Location: c.From.Location, Stamp: c.Stamp, Override: c.Override}
	}
	return err
}

func (r *Repository) loadVersions(ctx context.Context, c *layout.Content) error {
	var composing []*model.LoadedVersion
	err := r.checkVersions(c)
	if err == nil && c.Ensemble() {
		if composing, err = r.composingVersions(c); err != nil {
			r.opts.Log.Error(reasonOf(err), modelconfig.Details(err)...)
			r.withdraw(c.ID(), true)
			return &loadError{text: err.Error(), onlyLibrary: r.composingLacksOnlyLibrary(c)}
		}
	}
	if err != nil {
		r.opts.Log.Error(fmt.Sprintf("failed to load model '%s': %s", c.ID(), err))
		r.actual.Change(c.ID(), func(m *state.Model) { m.Desired = true })
		return &loadError{text: err.Error()}
	}
	jobs := r.beginLoad(c)
	var wg sync.WaitGroup
	for _, j := range jobs {
		if j.Do == state.VerbRetire {
			continue
		}
		r.opts.Log.Info(fmt.Sprintf("loading: %s:%d", c.ID(), j.Number))
		if j.Do != state.VerbKeep {
			wg.Go(func() { r.loadVersion(ctx, c, j, composing) })
		}
	}
	wg.Wait()
	return r.endLoad(c, jobs)
}

// checkVersions logs which folders and versions of the policy are left out, and why. It
// returns an error if no version is left.
func (r *Repository) checkVersions(c *layout.Content) error {
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

// loadVersion makes the version of a job. The files are fetched before the version takes a place to
// load: a store that is slow or does not answer keeps no version of another store from loading.
func (r *Repository) loadVersion(ctx context.Context, c *layout.Content, j *job, composing []*model.LoadedVersion) {
	if j.err = r.retry(ctx, func() error { return r.fetch(ctx, c, j) }); j.err != nil {
		return
	}
	defer j.folder.Release() // the version holds it
	p, ctx := r.acquirePlace(ctx)
	defer p.release()
	if j.err = ended(ctx); j.err != nil {
		return
	}
	defer r.progress.begin(c.ID(), j.Number)()
	defer r.tellIfSlow(c.ID(), j.Number, p)()
	j.err = r.retry(ctx, func() (err error) {
		j.version, err = r.build(ctx, c, j, composing)
		return err
	})
	if j.err == nil {
		c.Agents.Add(j.version)
	}
}

// ended returns the error of a load whose context has ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return status.New(status.Unavailable, "loading was ended: %w", context.Cause(ctx))
}

// retry calls do until it succeeds, at most once more than LoadRetries.
func (r *Repository) retry(ctx context.Context, do func() error) (err error) {
	for range max(r.opts.LoadRetries, 0) + 1 {
		if err = do(); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// fetch gets the files of the version of a job, if it loads any.
func (r *Repository) fetch(ctx context.Context, c *layout.Content, j *job) (err error) {
	j.times = c.Times
	if err := ended(ctx); err != nil || j.Do == state.VerbReplaceInstances || c.Ensemble() {
		return err
	}
	defer r.progress.begin(c.ID(), j.Number)()
	begin := time.Now()
	j.folder, err = c.Fetch(ctx, r.reader.Store, j.Name)
	j.times.Add(stats.PhaseFetch, begin)
	if err != nil {
		r.opts.Log.Error(fmt.Sprintf("failed to load '%s' version %d: %s", c.ID(), j.Number, reasonOf(err)))
	}
	return err
}

// build makes the version of a job, for an ensemble from the versions of its composing models.
func (r *Repository) build(ctx context.Context, c *layout.Content, j *job, composing []*model.LoadedVersion) (*model.LoadedVersion, error) {
	s := model.Source{
		ID: c.ID(), Number: j.Number, Version: j.Name, ConfigEntry: c.ConfigEntry, Config: c.Config,
		From:  model.Provenance{Origin: c.Origin(j.Version), Config: c.Config.ModelConfig, Stamp: c.Stamp, Agents: c.Agents},
		Times: j.times,
	}
	switch {
	case j.Do == state.VerbReplaceInstances:
		v, err := r.builder.ReplaceInstances(ctx, s, j.old)
		r.memory.replaced(v, j.old)
		return v, err
	case c.Ensemble():
		s.Folder, s.Models = c.Folder, r.actual.Steps(stepIDs(c))
		return r.builder.LoadEnsemble(s, composing, j.old)
	}
	s.Folder, s.Models = j.folder, r.submitter(c.ID().Namespace)
	return r.memory.measure(c, j.folder, j.Name, func() (*model.LoadedVersion, error) { return r.builder.Load(ctx, s) })
}

// stepIDs returns the IDs of the models of an ensemble's steps by their names.
func stepIDs(c *layout.Content) map[string]store.ID {
	ids := map[string]store.ID{}
	for i, step := range c.Config.GetEnsembleScheduling().GetStep() {
		ids[step.GetModelName()] = c.ComposingModels[i]
	}
	return ids
}

// reasonOf returns an error as the index and the log show it.
func reasonOf(err error) string { return status.From(err).Text() }
