package backend

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"

	"triton/pkg/status"
)

// MetricKind is the kind of a family.
type MetricKind uint8

// The kinds, with the numbers of Triton's C API.
const (
	Counter MetricKind = iota
	Gauge
	Histogram
)

// String returns the name of a kind in Triton's C API.
func (k MetricKind) String() string {
	return "TRITONSERVER_METRIC_KIND_" + [...]string{"COUNTER", "GAUGE", "HISTOGRAM"}[k]
}

// DTO returns the kind in Prometheus' data model.
func (k MetricKind) DTO() dto.MetricType {
	return [...]dto.MetricType{dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_HISTOGRAM}[k]
}

// Metrics holds the families of all models. It is safe for concurrent use.
type Metrics struct {
	mu       sync.Mutex
	taken    func(name string, kind MetricKind) bool
	families map[string]*MetricFamily
	mirror   MetricMirror // nil: none
	last     uint32       // number of a family or metric
}

// NewMetrics returns an empty Metrics. taken reports whether the server has a family of its own with a
// name, but of another kind; nil: it never has. It is called without a lock held.
func NewMetrics(taken func(name string, kind MetricKind) bool) *Metrics {
	return &Metrics{taken: taken, families: map[string]*MetricFamily{}}
}

// SetTaken replaces the function that New was given.
func (r *Metrics) SetTaken(taken func(name string, kind MetricKind) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = taken
}

// refuses reports whether the server has a family of that name and another kind.
func (r *Metrics) refuses(name string, kind MetricKind) bool {
	r.mu.Lock()
	taken := r.taken
	r.mu.Unlock()
	return taken != nil && taken(name, kind)
}

// MetricFamily is a family of metrics of one name. Models that make a family of the same name
// and kind share it.
type MetricFamily struct {
	registry   *Metrics
	name, help string
	kind       MetricKind
	refs       int
	metrics    []*Metric // in the order of their creation
	number     uint32
}

// errMetricKind refuses a family whose name has another kind already. The text is Triton's.
var errMetricKind error = status.New(status.Internal, "Family name already exists with different type")

var validMetricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// Family makes a family, or returns the one that exists. The caller releases it.
func (r *Metrics) Family(name, help string, kind MetricKind) (*MetricFamily, error) {
	switch {
	case kind > Histogram:
		return nil, status.New(status.InvalidArg, "Unsupported kind passed to Metric Family")
	case !validMetricName.MatchString(name):
		return nil, status.New(status.Internal, "Invalid metric name")
	case r.refuses(name, kind):
		return nil, errMetricKind
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.families[name]
	if f != nil && f.kind != kind {
		return nil, errMetricKind
	}
	if f == nil {
		f = &MetricFamily{registry: r, name: name, help: help, kind: kind}
		r.families[name] = f
		if f.number = r.numbered(); f.number != 0 {
			r.mirror.Family(f.number, name, help, kind)
		}
	}
	f.refs++
	return f, nil
}

// Release ends one use of a family. The last one removes it.
func (f *MetricFamily) Release() {
	r := f.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.refs--; f.refs == 0 {
		delete(r.families, f.name)
		r.dropped(f.number)
	}
}

// MetricLabel is one label of a metric.
type MetricLabel struct{ Name, Value string }

// Metric is one series. Models that make one with the same labels share it.
type Metric struct {
	family *MetricFamily
	labels []MetricLabel // sorted by name
	bounds []float64
	refs   int

	value   float64
	count   uint64
	sum     float64
	buckets []uint64 // by bound, not cumulative
	number  uint32
}

// Metric makes a metric, or returns the one that exists with these labels. The caller
// releases it. Only a histogram has bounds.
func (f *MetricFamily) Metric(labels []MetricLabel, bounds []float64) (*Metric, error) {
	labels = slices.Clone(labels)
	sort.Slice(labels, func(i, j int) bool { return labels[i].Name < labels[j].Name })
	for i, l := range labels {
		if !validMetricName.MatchString(l.Name) || strings.HasPrefix(l.Name, "__") || strings.Contains(l.Name, ":") ||
			i > 0 && l.Name == labels[i-1].Name || f.kind == Histogram && l.Name == "le" {
			return nil, status.New(status.Internal, "Invalid label name")
		}
	}
	for i, b := range bounds {
		if i > 0 && !(bounds[i-1] < b) {
			return nil, status.New(status.Internal, "Bucket Boundaries must be strictly sorted")
		}
	}
	f.registry.mu.Lock()
	defer f.registry.mu.Unlock()
	i := slices.IndexFunc(f.metrics, func(m *Metric) bool { return slices.Equal(m.labels, labels) })
	if i >= 0 {
		f.metrics[i].refs++
		return f.metrics[i], nil
	}
	m := &Metric{family: f, labels: labels, bounds: slices.Clone(bounds), refs: 1, buckets: make([]uint64, len(bounds))}
	f.metrics = append(f.metrics, m)
	if m.number = f.registry.numbered(); m.number != 0 {
		f.registry.mirror.Metric(m.number, f.number, labels, bounds)
	}
	return m, nil
}

// Release ends one use of a metric. The last one removes it.
func (m *Metric) Release() {
	m.family.registry.mu.Lock()
	defer m.family.registry.mu.Unlock()
	if m.refs--; m.refs == 0 {
		m.family.metrics = slices.DeleteFunc(m.family.metrics, func(o *Metric) bool { return o == m })
		m.family.registry.dropped(m.number)
	}
}
