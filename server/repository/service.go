package repository

import (
	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/stats"
)

// Live says whether the server answers at all.
func (r *Repository) Live() bool {
	return serves(r.phase.Load())
}

// Ready says whether the server takes inference requests. A strict server does
// so only while every model it knows is ready.
func (r *Repository) Ready() bool {
	if r.phase.Load() != ready {
		return false
	}
	if !r.opts.StrictReadiness {
		return true
	}
	for _, m := range r.view.Load().order {
		if len(m.entries) == 0 {
			return false
		}
		for i := range m.entries {
			if e := &m.entries[i]; !e.works() && e.reason != reasonUnloaded {
				return false
			}
		}
	}
	return true
}

// Exiting says whether the server is shutting down.
func (r *Repository) Exiting() bool { return r.phase.Load() == exiting }

// Metadata is what the server says of itself.
func (r *Repository) Metadata() *inferencepb.ServerMetadataResponse {
	return &inferencepb.ServerMetadataResponse{
		Name: r.opts.ID, Version: r.opts.Version, Extensions: r.opts.Extensions,
	}
}

// ModelReady says whether a version, or any version, takes requests. That the
// model is unknown is no error.
func (r *Repository) ModelReady(name, number string) (bool, error) {
	if r.phase.Load() != ready {
		return false, errServer(r.phase.Load())
	}
	if number != "" {
		if _, err := parseVersion(number); err != nil {
			return false, err
		}
	}
	m, err := r.pick(r.view.Load(), name)
	if err != nil {
		return false, nil
	}
	e, err := m.find(name, number)
	return err == nil && e.works(), nil
}

func errServer(p phase) error {
	if p == exiting {
		return status.New(status.Unavailable, "Server exiting")
	}
	return status.New(status.Unavailable, "Server not ready")
}

// Statistics of one model, or of all when name is empty.
func (r *Repository) Statistics(name, number string) (*inferencepb.ModelStatisticsResponse, error) {
	if p := r.phase.Load(); !serves(p) {
		return nil, errServer(p)
	}
	want := int64(-1)
	if number != "" {
		n, err := parseVersion(number)
		if err != nil {
			return nil, err
		}
		want = n
	}
	view, out := r.view.Load(), &inferencepb.ModelStatisticsResponse{}
	if name == "" {
		for _, m := range view.order {
			out.ModelStats = appendStats(out.ModelStats, m, -1)
		}
		return out, nil
	}
	m, err := r.pick(view, name)
	if err != nil || m == nil || m.any == nil {
		return nil, status.New(status.InvalidArg, "requested model '%s' is not available", name)
	}
	out.ModelStats = appendStats(nil, m, want)
	if len(out.ModelStats) == 0 {
		return nil, status.New(status.InvalidArg, "requested model version is not available for model '%s'", name)
	}
	return out, nil
}

func appendStats(list []*inferencepb.ModelStatistics, m *served, want int64) []*inferencepb.ModelStatistics {
	for _, e := range m.entries {
		if e.state == stateReady && (want < 0 || e.number == want) {
			list = append(list, e.version.Statistics())
		}
	}
	return list
}

// Served lists the ready versions for the metrics.
func (r *Repository) Served() []stats.Served {
	var all []stats.Served
	for _, m := range r.view.Load().order {
		for _, e := range m.entries {
			if e.state == stateReady {
				all = append(all, e.version.Served())
			}
		}
	}
	return all
}
