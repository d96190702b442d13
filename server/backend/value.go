package backend

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"triton/pkg/status"
)

func (m *Metric) unsupported(operation string) error {
	return status.New(status.Unsupported, "%s does not support %s", m.family.kind, operation)
}

// Increment adds v, which a counter requires not to be negative.
func (m *Metric) Increment(v float64) error {
	switch {
	case m.family.kind == Histogram:
		return m.unsupported("Increment")
	case m.family.kind == Counter && !(v >= 0):
		return status.New(status.InvalidArg, "%s can only be incremented monotonically by non-negative values.", m.family.kind)
	}
	m.family.registry.mu.Lock()
	m.value += v
	m.changed(MetricIncrement, v)
	m.family.registry.mu.Unlock()
	return nil
}

// Set sets a gauge.
func (m *Metric) Set(v float64) error {
	if m.family.kind != Gauge {
		return m.unsupported("Set")
	}
	m.family.registry.mu.Lock()
	m.value = v
	m.changed(MetricSet, v)
	m.family.registry.mu.Unlock()
	return nil
}

// Observe adds a value to a histogram.
func (m *Metric) Observe(v float64) error {
	if m.family.kind != Histogram {
		return m.unsupported("Observe")
	}
	m.family.registry.mu.Lock()
	defer m.family.registry.mu.Unlock()
	m.count++
	m.sum += v
	if i, _ := slices.BinarySearch(m.bounds, v); i < len(m.buckets) {
		m.buckets[i]++
	}
	m.changed(MetricObserve, v)
	return nil
}

// Value returns the value of a counter or a gauge.
func (m *Metric) Value() (float64, error) {
	if m.family.kind == Histogram {
		return 0, m.unsupported("Value")
	}
	m.family.registry.mu.Lock()
	defer m.family.registry.mu.Unlock()
	return m.value, nil
}

// Gather returns the families that have metrics, by name.
func (r *Metrics) Gather() (all []*dto.MetricFamily) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.families {
		if len(f.metrics) == 0 {
			continue
		}
		kind := f.kind.DTO()
		g := &dto.MetricFamily{Name: new(f.name), Help: new(f.help), Type: &kind}
		for _, m := range f.metrics {
			g.Metric = append(g.Metric, m.gather())
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return all
}

func (m *Metric) gather() *dto.Metric {
	g := &dto.Metric{}
	for _, l := range m.labels {
		g.Label = append(g.Label, &dto.LabelPair{Name: new(l.Name), Value: new(l.Value)})
	}
	switch m.family.kind {
	case Counter:
		g.Counter = &dto.Counter{Value: new(m.value)}
	case Gauge:
		g.Gauge = &dto.Gauge{Value: new(m.value)}
	default:
		g.Histogram = &dto.Histogram{SampleCount: new(m.count), SampleSum: new(m.sum)}
		total := uint64(0)
		for i, b := range m.bounds {
			total += m.buckets[i]
			g.Histogram.Bucket = append(g.Histogram.Bucket, &dto.Bucket{UpperBound: new(b), CumulativeCount: new(total)})
		}
	}
	return g
}
