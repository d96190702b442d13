package server

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"triton/server/backend"
	"triton/server/capi"
	"triton/server/stats"
)

// tritonFamilies returns the families that Triton's server has too, in its order within each kind.
func tritonFamilies() []stats.Family {
	all := stats.Families()
	for _, p := range polledMetrics {
		all = append(all, stats.Family{Name: p.name, Kind: *p.kind.ToDTO()})
	}
	for _, g := range cacheGauges {
		all = append(all, stats.Family{Name: g.name, Kind: dto.MetricType_GAUGE})
	}
	return all
}

func familyOrder() (names []string) {
	for _, f := range tritonFamilies() {
		names = append(names, f.Name)
	}
	return names
}

// tritonKindTaken reports whether Triton's server has a family of a name, but of another kind.
func tritonKindTaken(name string, kind backend.MetricKind) bool {
	return slices.ContainsFunc(tritonFamilies(), func(f stats.Family) bool { return f.Name == name && f.Kind != kind.DTO() })
}

// kindTaken reports whether the server has a family of a name, but of another kind. Triton's
// families have their kind from the start, ours and those of the runtime as soon as they have values.
func (s *Server) kindTaken(name string, kind backend.MetricKind) bool {
	if tritonKindTaken(name, kind) {
		return true
	}
	ours := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	if !slices.ContainsFunc([]string{"triton_", "go_", "process_"}, ours) {
		return false
	}
	for _, registry := range []*prometheus.Registry{s.registry, newRuntimeMetrics()} {
		families, _ := registry.Gather() // the page reports what cannot be gathered
		if f := familyNamed(families, name); f != nil {
			return f.GetType() != kind.DTO()
		}
	}
	return false
}

// gatherModels returns the families that models and libraries made, which load reports are made of.
func (s *Server) gatherModels() ([]*dto.MetricFamily, error) {
	return append(s.modelMetrics.Gather(), capi.Metrics().Gather()...), nil
}

func familyNamed(families []*dto.MetricFamily, name string) *dto.MetricFamily {
	for _, f := range families {
		if f.GetName() == name {
			return f
		}
	}
	return nil
}

// mergeFamilies adds the series of other families to those of known that have their names, and returns the families with
// new names. A page with a name or a series twice is no page, so what is known counts.
func mergeFamilies(known, others []*dto.MetricFamily) (added []*dto.MetricFamily) {
	for _, m := range others {
		f := familyNamed(known, m.GetName())
		if f == nil {
			added = append(added, m)
			continue
		}
		for _, series := range m.GetMetric() {
			if f.GetType() == m.GetType() && !slices.ContainsFunc(f.GetMetric(), sameLabels(series)) {
				f.Metric = append(f.Metric, series)
			}
		}
	}
	return added
}

func sameLabels(m *dto.Metric) func(*dto.Metric) bool {
	key := func(m *dto.Metric) string {
		labels := slices.Clone(m.GetLabel())
		slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		var b strings.Builder
		for _, l := range labels {
			b.WriteString(l.GetName() + "\x00" + l.GetValue() + "\x00")
		}
		return b.String()
	}
	want := key(m)
	return func(other *dto.Metric) bool { return key(other) == want }
}
