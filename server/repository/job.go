package repository

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"triton/server/backend"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/stats"
	"triton/server/store"
)

// job is a change of a version under way.
type job struct {
	state.Change
	old     *model.LoadedVersion // serves until the load ends; nil: no version serves
	folder  *store.Folder        // the fetched files, until the load ends
	times   stats.LoadTimes      // before the load
	version *model.LoadedVersion // the result
	err     error
}

// beginLoad decides about each version. New versions are in the index from now on.
func (r *Repository) beginLoad(c *layout.Content) []*job {
	changes := state.PlanVersions(c, r.ready(c.ID()))
	jobs := make([]*job, len(changes))
	r.actual.Change(c.ID(), func(m *state.Model) {
		m.Desired = true
		for i, change := range changes {
			jobs[i] = &job{Change: change}
			if v := m.Add(change.Number); v.State == state.VersionReady {
				jobs[i].old = v.Loaded
			} else {
				v.State, v.Reason, v.Loaded = state.VersionLoading, "", nil
			}
		}
	})
	return jobs
}

// ready returns the ready versions of a model for a plan.
func (r *Repository) ready(id store.ID) []state.ReadyVersion {
	var all []state.ReadyVersion
	for _, v := range r.actual.Snapshot().Model(id).ReadyVersions() {
		from := v.From()
		all = append(all, state.ReadyVersion{
			Number: v.Number(), Origin: from.Origin, Config: from.Config, Stamp: from.Stamp, Broken: v.Broken(),
		})
	}
	return all
}

// endLoad publishes the results of the jobs, or undoes them if one failed.
func (r *Repository) endLoad(c *layout.Content, jobs []*job) error {
	failed := failure(jobs)
	begin := time.Now()
	var retired []*model.LoadedVersion
	if failed != nil {
		r.actual.Change(c.ID(), func(m *state.Model) { retired = undo(m, jobs) })
		r.opts.Log.Info(fmt.Sprintf("failed to load '%s'", c.ID()))
	} else {
		r.actual.Change(c.ID(), func(m *state.Model) { retired = publish(m, jobs) })
		r.opts.Log.Info(fmt.Sprintf("successfully loaded '%s'", c.ID()))
	}
	var times stats.LoadTimes
	times.Add(stats.PhaseSwap, begin)
	r.opts.Phases.Record(c.ID().Namespace, c.ID().Name, &times)
	var closed []<-chan struct{}
	for _, v := range retired {
		closed = append(closed, r.retire(c.ID(), v))
	}
	c.Agents.Done(failed == nil)
	if failed == nil {
		r.waitSurplus(jobs)
	} else {
		r.waitDiscarded(closed)
	}
	return failed
}

// surplusWait bounds how long a load waits until what it made superfluous is closed: instances, which
// Triton's load waits for, and versions that never served. What still runs on them goes on after that.
const surplusWait = 5 * time.Second

// waitDiscarded waits for the versions that a failed load has built in vain, so that their memory is
// free before the caller loads again, and so that they are not seen unloading after the start.
func (r *Repository) waitDiscarded(closed []<-chan struct{}) {
	late := time.NewTimer(surplusWait)
	defer late.Stop()
	for _, done := range closed {
		select {
		case <-done:
		case <-late.C:
			return
		}
	}
}

// waitSurplus waits for the instances that a load of new instance groups has made superfluous.
func (r *Repository) waitSurplus(jobs []*job) {
	ctx, cancel := context.WithTimeout(r.life, surplusWait)
	defer cancel()
	for _, j := range jobs {
		if j.Do == state.VerbReplaceInstances {
			j.version.WaitSurplus(ctx)
		}
	}
}

// failure returns the errors of all jobs as one; nil when none failed.
func failure(jobs []*job) error {
	var text strings.Builder
	var versions []failedVersion
	onlyLibrary := true
	for _, j := range jobs {
		if j.err != nil {
			fmt.Fprintf(&text, "version %d is at %s state: %s;", j.Number, state.VersionUnavailable, reasonOf(j.err))
			versions = append(versions, failedVersion{j.Number, reasonOf(j.err)})
			onlyLibrary = onlyLibrary && errors.Is(j.err, backend.ErrNoLibrary)
		}
	}
	if text.Len() == 0 {
		return nil
	}
	return &loadError{text.String(), versions, onlyLibrary}
}

// undo takes the versions of the jobs out of service, because one of them failed. It
// returns the versions to close.
func undo(m *state.Model, jobs []*job) (retired []*model.LoadedVersion) {
	for _, j := range jobs {
		if j.version != nil {
			retired = append(retired, j.version)
		}
		if j.old != nil {
			continue
		}
		v := m.Version(j.Number)
		if j.err != nil {
			v.State, v.Reason = state.VersionUnavailable, reasonOf(j.err)
		} else {
			v.State, v.Loaded = state.VersionUnloading, j.version
		}
	}
	return retired
}

// publish puts the versions of the jobs in place of the old ones. It returns the versions
// to close.
func publish(m *state.Model, jobs []*job) (retired []*model.LoadedVersion) {
	for _, j := range jobs {
		v := m.Version(j.Number)
		switch j.Do {
		case state.VerbKeep:
			continue
		case state.VerbRetire:
			v.State = state.VersionUnloading
		case state.VerbLoad, state.VerbReplaceInstances:
			v.State, v.Reason, v.Loaded = state.VersionReady, "", j.version
		}
		if j.old != nil {
			if j.Do == state.VerbReplaceInstances {
				j.version.Takeover(j.old)
			}
			retired = append(retired, j.old)
		}
	}
	return retired
}
