package repository

import (
	"context"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/repository/layout"
	"triton/server/repository/state"
	"triton/server/store"
)

// Index lists the models that the store has now, and the states of their versions. A model
// that is in several directories is listed as unavailable, even with readyOnly. A model that
// the store no longer has is left out, even if it still serves.
func (r *Repository) Index(readyOnly bool) *inferencepb.RepositoryIndexResponse {
	out := &inferencepb.RepositoryIndexResponse{}
	now := r.actual.Snapshot()
	for _, f := range r.present() {
		m := now.Model(f.ID)
		switch {
		case f.Ambiguous:
			out.Models = append(out.Models, &inferencepb.RepositoryIndexResponse_ModelIndex{
				Name: f.ID.Name, State: string(state.VersionUnavailable), Reason: "model appears in two or more repositories",
			})
		case m == nil && !readyOnly:
			out.Models = append(out.Models, r.onDemandEntry(f.ID, r.neverLoaded(f.ID)))
		case !readyOnly && r.unfit(f.ID, m):
			out.Models = append(out.Models, &inferencepb.RepositoryIndexResponse_ModelIndex{Name: f.ID.Name})
		case m != nil:
			entries := r.explain(f, m.Index(readyOnly))
			r.annotate(f.ID, m, entries)
			for _, entry := range entries {
				out.Models = append(out.Models, r.onDemandEntry(f.ID, entry))
			}
		}
	}
	return out
}

// activity returns what the store does for a model of the last listing now; empty if nothing that takes
// long.
func (r *Repository) activity(id store.ID) string {
	listed := r.listed.Load()
	if r.paths == nil || listed == nil {
		return ""
	}
	if m := layout.Find(*listed, id); m != nil {
		return r.paths.Activity(*m)
	}
	return ""
}

// explain adds to versions that are loading what the store is doing for them.
func (r *Repository) explain(m store.Model, all []*inferencepb.RepositoryIndexResponse_ModelIndex) []*inferencepb.RepositoryIndexResponse_ModelIndex {
	if r.paths == nil {
		return all
	}
	for _, e := range all {
		if e.State == string(state.VersionLoading) && e.Reason == "" {
			e.Reason = r.paths.Activity(m)
		}
	}
	return all
}

// unfit reports whether a model is an ensemble that never fitted its steps. As NVIDIA's server, the
// index has its name only; a model of a backend of which no version could be chosen is left out.
func (r *Repository) unfit(id store.ID, m *state.Model) bool {
	if m == nil || len(m.Versions) > 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.desired.ComposingModels(id)) > 0
}

// neverLoaded returns the entry of a model that was never loaded: its name and, if its
// configuration was refused or a poll waits for its files, the reason.
func (r *Repository) neverLoaded(id store.ID) *inferencepb.RepositoryIndexResponse_ModelIndex {
	entry := &inferencepb.RepositoryIndexResponse_ModelIndex{Name: id.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refused[id]; err != nil {
		entry.State, entry.Reason = string(state.VersionUnavailable), reasonOf(err)
	} else if w := r.waits[id]; w != nil {
		entry.State, entry.Reason = string(state.VersionUnavailable), w.Text(time.Now())
	}
	return entry
}

// indexWait bounds how long the index waits for the store.
const indexWait = 10 * time.Second

// present lists the models of the store for the index. When the store does not answer, it
// returns the models of the last listing.
func (r *Repository) present() []store.Model {
	ctx, cancel := context.WithTimeout(context.Background(), indexWait)
	defer cancel()
	l := r.list(ctx)
	if l.Err != nil {
		r.opts.Log.Error("listing the model repository", "error", l.Err)
		if before := r.listed.Load(); l.Models == nil && before != nil {
			return *before
		}
	}
	return l.Models
}
