package isolated

import (
	"math"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
)

// errNoMetrics is why the metrics of a child are not shown.
var errNoMetrics error = status.New(status.Unavailable, "this server has no metrics")

// metric follows the metrics of a library in the child. What is refused here, such as a name that
// another model uses for another kind, is logged: the library goes on with its own. known is false
// for a frame that no child sends.
func (s *session) metric(r *child.Reader) (known bool) {
	kind, number := r.Uint8(), r.Uint32()
	var err error
	switch kind {
	case host.MetricFamily:
		err = s.newFamily(number, r)
	case host.MetricNew:
		err = s.newMetric(number, r)
	case host.MetricChange:
		c, v := backend.MetricChange(r.Uint8()), math.Float64frombits(r.Uint64())
		if c > backend.MetricObserve {
			return false
		}
		if m := s.metrics.Metric(number); m != nil && r.Err() == nil {
			err = m.Apply(c, v)
		}
	case host.MetricDrop:
		s.metrics.Drop(number)
	default:
		return false
	}
	if err != nil && r.Err() == nil {
		s.log.log.Warn("a metric of a model in a process of its own is not exported", "model", s.name, "error", err)
	}
	return true
}

func (s *session) newFamily(number uint32, r *child.Reader) error {
	name, help, kind := r.String(), r.String(), backend.MetricKind(r.Uint8())
	if r.Err() != nil {
		return nil
	}
	if s.spec.Metrics == nil {
		return errNoMetrics
	}
	f, err := s.spec.Metrics.Family(name, help, kind)
	if err != nil {
		return status.New(status.Internal, "%s: %w", name, err)
	}
	s.metrics.AddFamily(number, f)
	return nil
}

// newMetric makes a metric, unless its family was refused.
func (s *session) newMetric(number uint32, r *child.Reader) error {
	family := r.Uint32()
	var labels []backend.MetricLabel
	for range r.Uint32() {
		if r.Err() != nil {
			return nil
		}
		labels = append(labels, backend.MetricLabel{Name: r.String(), Value: r.String()})
	}
	var bounds []float64
	for range r.Uint32() {
		if r.Err() != nil {
			return nil
		}
		bounds = append(bounds, math.Float64frombits(r.Uint64()))
	}
	f := s.metrics.Family(family)
	if f == nil || r.Err() != nil {
		return nil
	}
	m, err := f.Metric(labels, bounds)
	if err != nil {
		return err
	}
	s.metrics.AddMetric(number, family, m)
	return nil
}

// endMetrics ends the use of metrics by a child that has ended. Those of a child that died stay for
// the next one.
func (s *session) endMetrics() {
	if s.orphans == nil || s.exit.Code == 0 {
		s.metrics.Release()
		return
	}
	s.orphans.adopt(&s.metrics)
}
