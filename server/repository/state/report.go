package state

import (
	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
	"triton/server/store"
)

// Status is the status of one version, or of a model without versions.
type Status struct {
	ID      store.ID
	Version string // empty: the model has no versions
	Ready   bool
	Reason  string
}

// Status returns the status of all versions, by model and number.
func (s *Actual) Status() []Status {
	var all []Status
	for _, m := range s.current.Load().order {
		if len(m.Versions) == 0 {
			all = append(all, Status{ID: m.ID, Reason: "Not loaded: No model version was found"})
		}
		for _, v := range m.Versions {
			all = append(all, Status{ID: m.ID, Version: v.text, Ready: v.State == VersionReady, Reason: v.reason()})
		}
	}
	return all
}

// Index returns the versions of a model for the repository index.
func (m *Model) Index(readyOnly bool) []*inferencepb.RepositoryIndexResponse_ModelIndex {
	var all []*inferencepb.RepositoryIndexResponse_ModelIndex
	for _, v := range m.Versions {
		if v.State == VersionReady || !readyOnly {
			all = append(all, &inferencepb.RepositoryIndexResponse_ModelIndex{
				Name: m.ID.Name, Version: v.text, State: string(v.State), Reason: v.reason(),
			})
		}
	}
	return all
}

// AllReady reports whether every model has versions and all of them work and pass their
// readiness checks, besides those that were unloaded.
func (s *Actual) AllReady() bool {
	works := func(v *Version) bool { return v.works() }
	ready := func(v *Version) bool { return v.passesChecks(s.opts.Log) }
	now := s.current.Load()
	return now.all(works) && now.all(ready) // no slow check when a model does not work
}

// all reports whether every model has versions, and all of them are good, besides those that
// were unloaded.
func (s *Snapshot) all(good func(*Version) bool) bool {
	for _, m := range s.order {
		if len(m.Versions) == 0 {
			return false
		}
		for i := range m.Versions {
			if v := &m.Versions[i]; v.Reason != ReasonUnloaded && !good(v) {
				return false
			}
		}
	}
	return true
}

// Statistics returns the statistics of the ready versions of one model, or of all when name
// is empty.
func (s *Actual) Statistics(name, number string) (*inferencepb.ModelStatisticsResponse, error) {
	want := int64(-1)
	if number != "" {
		n, err := infer.ParseVersion(number)
		if err != nil {
			return nil, err
		}
		want = n
	}
	now, out := s.current.Load(), &inferencepb.ModelStatisticsResponse{}
	if name == "" {
		for _, m := range now.order {
			out.ModelStats = appendStats(out.ModelStats, m, -1)
		}
		return out, nil
	}
	m, err := s.modelNamed(now, name)
	if err != nil || m == nil || m.newest == nil {
		return nil, status.New(status.InvalidArg, "requested model '%s' is not available", name)
	}
	out.ModelStats = appendStats(nil, m, want)
	if len(out.ModelStats) == 0 {
		return nil, status.New(status.InvalidArg, "requested model version is not available for model '%s'", name)
	}
	return out, nil
}

func appendStats(list []*inferencepb.ModelStatistics, m *Model, want int64) []*inferencepb.ModelStatistics {
	for _, v := range m.ReadyVersions() {
		if want < 0 || v.Number() == want {
			list = append(list, v.Statistics())
		}
	}
	return list
}

// Served returns the ready versions for the metrics.
func (s *Actual) Served() []stats.Served {
	var all []stats.Served
	for _, m := range s.current.Load().order {
		for _, v := range m.ReadyVersions() {
			all = append(all, v.Served())
		}
	}
	return all
}
