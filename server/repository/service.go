package repository

import (
	"sort"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/repository/state"
	"triton/server/stats"
	"triton/server/store"
)

// Live reports whether the server answers requests.
func (r *Repository) Live() bool { return answers(r.phase.Load()) }

// Exiting reports whether the server is shutting down.
func (r *Repository) Exiting() bool { return r.phase.Load() == exiting }

// Failure returns why Start failed with an error other than ErrLoad; nil once it has succeeded.
func (r *Repository) Failure() error {
	if err := r.failure.Load(); err != nil && r.phase.Load() == failed {
		return *err
	}
	return nil
}

// Metadata returns the metadata of the server.
func (r *Repository) Metadata() *inferencepb.ServerMetadataResponse {
	return &inferencepb.ServerMetadataResponse{
		Name: r.opts.ID, Version: r.opts.Version, Extensions: r.opts.Extensions,
	}
}

// Model finds a ready version and takes a reference to it.
func (r *Repository) Model(name, number string) (infer.Model, error) {
	if p := r.phase.Load(); !answers(p) {
		return nil, errServer(p)
	}
	return r.actual.Acquire(name, number)
}

// ModelReady reports whether a version, or the newest one, works; false without an error
// for an unknown model.
func (r *Repository) ModelReady(name, number string) (bool, error) {
	if p := r.phase.Load(); p != ready {
		return false, errServer(p)
	}
	if ready, err := r.actual.Ready(name, number); ready || err != nil || r.demand == nil {
		return ready, err
	}
	return r.loadable(name, number), nil
}

// Statistics returns the statistics of one model, or of all when name is empty.
func (r *Repository) Statistics(name, number string) (*inferencepb.ModelStatisticsResponse, error) {
	if p := r.phase.Load(); !answers(p) {
		return nil, errServer(p)
	}
	return r.actual.Statistics(name, number)
}

// Served returns the ready versions for the metrics.
func (r *Repository) Served() []stats.Served { return r.actual.Served() }

// Status returns the status of all versions, and of the models that have none because
// their configuration was refused, by model and number.
func (r *Repository) Status() []state.Status {
	all := r.actual.Status()
	now := r.actual.Snapshot()
	r.mu.Lock()
	for id, err := range r.refused {
		if now.Model(id) == nil {
			all = append(all, state.Status{ID: id, Reason: "Not loaded: " + reasonOf(err)})
		}
	}
	r.mu.Unlock()
	sort.SliceStable(all, func(i, j int) bool { return store.Compare(all[i].ID, all[j].ID) < 0 })
	return all
}

func errServer(p phase) error {
	if p == exiting {
		return status.New(status.Unavailable, "Server exiting")
	}
	return status.New(status.Unavailable, "Server not ready")
}
