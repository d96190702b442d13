package repository

import (
	"cmp"
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/stats"
)

// Live says whether the server answers at all.
func (r *Repository) Live() bool {
	p := r.phase.Load()
	return p == ready || p == exiting
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
	for _, m := range r.view.Load().models {
		if len(m.versions) == 0 {
			return false
		}
		for _, v := range m.versions {
			if !v.works() && v.reason != reasonUnloaded {
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
	v, err := r.view.Load().models[name].find(name, number)
	return err == nil && v.works(), nil
}

func errServer(p phase) error {
	if p == exiting {
		return status.New(status.Unavailable, "Server exiting")
	}
	return status.New(status.Unavailable, "Server not ready")
}

// Statistics of one model, or of all when name is empty.
func (r *Repository) Statistics(name, number string) (*inferencepb.ModelStatisticsResponse, error) {
	if p := r.phase.Load(); p != ready && p != exiting {
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
		for _, n := range view.names {
			out.ModelStats = appendStats(out.ModelStats, view.models[n], -1)
		}
		return out, nil
	}
	m := view.models[name]
	if m == nil || m.any == nil {
		return nil, status.New(status.InvalidArg, "requested model '%s' is not available", name)
	}
	out.ModelStats = appendStats(nil, m, want)
	if len(out.ModelStats) == 0 {
		return nil, status.New(status.InvalidArg, "requested model version is not available for model '%s'", name)
	}
	return out, nil
}

func appendStats(list []*inferencepb.ModelStatistics, m *model, want int64) []*inferencepb.ModelStatistics {
	for _, v := range m.versions {
		if v.state == stateReady && (want < 0 || v.number == want) {
			list = append(list, v.statistics())
		}
	}
	return list
}

// statistics are the counters and what the engine says it holds.
func (v *version) statistics() *inferencepb.ModelStatistics {
	s := v.stats.Snapshot()
	for _, m := range v.group.Memory() {
		s.MemoryUsage = append(s.MemoryUsage, &inferencepb.MemoryUsage{Type: m.Place, Id: m.ID, ByteSize: m.Bytes})
	}
	return s
}

// Index lists what the repository's directories hold and how it fares. A model
// that stands in several directories is listed in any case.
func (r *Repository) Index(readyOnly bool) *inferencepb.RepositoryIndexResponse {
	out := &inferencepb.RepositoryIndexResponse{}
	add := func(e *inferencepb.RepositoryIndexResponse_ModelIndex) { out.Models = append(out.Models, e) }
	for _, l := range r.view.Load().index {
		switch {
		case l.reason != "":
			add(&inferencepb.RepositoryIndexResponse_ModelIndex{Name: l.name, State: string(stateUnavailable), Reason: l.reason})
		case l.model == nil && !readyOnly:
			add(&inferencepb.RepositoryIndexResponse_ModelIndex{Name: l.name})
		case l.model != nil:
			for _, v := range l.model.versions {
				if v.state == stateReady || !readyOnly {
					add(&inferencepb.RepositoryIndexResponse_ModelIndex{
						Name: v.model, Version: v.text, State: string(v.state), Reason: v.reason,
					})
				}
			}
		}
	}
	return out
}

// Status is what became of one version, or of a model without any.
type Status struct {
	Model   string
	Version string // empty: none was found
	Ready   bool
	Reason  string
}

// Status lists all versions by model name and number.
func (r *Repository) Status() []Status {
	var all []Status
	view := r.view.Load()
	for _, name := range view.names {
		m := view.models[name]
		if len(m.versions) == 0 {
			all = append(all, Status{Model: name, Reason: "Not loaded: No model version was found"})
		}
		for _, v := range m.versions {
			all = append(all, Status{Model: name, Version: v.text, Ready: v.state == stateReady, Reason: v.reason})
		}
	}
	slices.SortStableFunc(all, func(a, b Status) int { return cmp.Compare(a.Model, b.Model) })
	return all
}

// Served lists the ready versions for the metrics.
func (r *Repository) Served() []stats.Served {
	var all []stats.Served
	view := r.view.Load()
	for _, name := range view.names {
		for _, v := range view.models[name].versions {
			if v.state == stateReady {
				all = append(all, stats.Served{Model: v.stats, Tags: v.config.GetMetricTags(), LoadSeconds: v.seconds})
			}
		}
	}
	return all
}
