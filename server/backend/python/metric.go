package python

import (
	"encoding/json"
	"math"
	"strconv"

	"triton/pkg/status"
	"triton/server/backend/child"
	"triton/server/backend/metric"
)

// The operations of frameMetric.
const (
	metricFamily = iota
	metricNew
	metricIncrement
	metricSet
	metricObserve
	metricValue
	metricRelease
)

// metrics are the families and metrics that a child uses, by number. They are used by
// the goroutine of events, and after the end of the child.
type metrics struct {
	last     uint32
	families map[uint32]*metric.Family
	metrics  map[uint32]*metric.Metric
}

func newMetrics() metrics {
	return metrics{families: map[uint32]*metric.Family{}, metrics: map[uint32]*metric.Metric{}}
}

// release releases all metrics and families.
func (m *metrics) release() {
	for n := range m.metrics {
		m.drop(n)
	}
	for n := range m.families {
		m.drop(n)
	}
}

// releaseMetrics releases the metrics of a child that has ended. Those of a child that
// died stay as long as the model, so that its successor goes on with their values.
func (e *events) releaseMetrics(exit *child.Exit) {
	m := e.metrics
	e.metrics = newMetrics()
	if exit.Code != 0 {
		e.model.mu.Lock()
		defer e.model.mu.Unlock()
		e.model.orphans.adopt(&m)
	}
	m.release()
}

// orphans are the metrics of children that died, each once.
type orphans struct {
	families map[*metric.Family]bool
	metrics  map[*metric.Metric]bool
}

// adopt takes over the families and metrics that o does not have.
func (o *orphans) adopt(m *metrics) {
	if o.families == nil {
		o.families, o.metrics = map[*metric.Family]bool{}, map[*metric.Metric]bool{}
	}
	for n, f := range m.families {
		if !o.families[f] {
			o.families[f] = true
			delete(m.families, n)
		}
	}
	for n, one := range m.metrics {
		if !o.metrics[one] {
			o.metrics[one] = true
			delete(m.metrics, n)
		}
	}
}

func (o *orphans) release() {
	for one := range o.metrics {
		one.Release()
	}
	for f := range o.families {
		f.Release()
	}
}

func (m *metrics) drop(number uint32) {
	if one := m.metrics[number]; one != nil {
		delete(m.metrics, number)
		one.Release()
	}
	if f := m.families[number]; f != nil {
		delete(m.families, number)
		f.Release()
	}
}

// metric carries out an operation on metrics. Question 0 gets no answer.
func (e *events) metric(p *child.Process, r *child.Reader) {
	question, operation := r.Uint32(), r.Uint8()
	text, err := e.measure(operation, r)
	if question != 0 && r.Err() == nil {
		e.answer(p, question, err, text)
	}
}

func (e *events) measure(operation uint8, r *child.Reader) (string, error) {
	m := &e.metrics
	if operation == metricFamily {
		name, help, kind := r.String(), r.String(), metric.Kind(r.Uint8())
		if e.model.spec.Metrics == nil || r.Err() != nil {
			return "", status.New(status.Unavailable, "this server has no metrics")
		}
		f, err := e.model.spec.Metrics.Family(name, help, kind)
		if err != nil {
			return "", err
		}
		m.last++
		m.families[m.last] = f
		return strconv.FormatUint(uint64(m.last), 10), nil
	}
	number := r.Uint32()
	if operation == metricRelease {
		m.drop(number)
		return "", nil
	}
	if operation == metricNew {
		return e.newMetric(m.families[number], r)
	}
	one := m.metrics[number]
	if one == nil {
		return "", status.New(status.Internal, "the metric was deleted")
	}
	switch v := math.Float64frombits(r.Uint64()); operation {
	case metricIncrement:
		return "", one.Increment(v)
	case metricSet:
		return "", one.Set(v)
	case metricObserve:
		return "", one.Observe(v)
	}
	v, err := one.Value()
	return strconv.FormatFloat(v, 'g', -1, 64), err
}

// newMetric makes a metric with the labels of a JSON object.
func (e *events) newMetric(f *metric.Family, r *child.Reader) (string, error) {
	var values map[string]any
	wrong := json.Unmarshal(r.Next(uint64(r.Uint32())), &values)
	var bounds []float64
	for range r.Uint32() {
		if r.Err() != nil {
			break
		}
		bounds = append(bounds, math.Float64frombits(r.Uint64()))
	}
	if f == nil || wrong != nil || r.Err() != nil {
		return "", status.New(status.Internal, "the metric family was deleted")
	}
	var labels []metric.Label
	for name, value := range values {
		text, ok := value.(string)
		if !ok {
			return "", status.New(status.Internal, "attempt to access JSON non-string as string")
		}
		labels = append(labels, metric.Label{Name: name, Value: text})
	}
	one, err := f.Metric(labels, bounds)
	if err != nil {
		return "", err
	}
	e.metrics.last++
	e.metrics.metrics[e.metrics.last] = one
	return strconv.FormatUint(uint64(e.metrics.last), 10), nil
}
