package python

import (
	"encoding/json"
	"math"
	"strconv"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/child"
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

// releaseMetrics releases the metrics of a child that has ended. Those of a child that
// died stay as long as the model, so that its successor goes on with their values.
func (e *events) releaseMetrics(exit *child.Exit) {
	if exit.Code != 0 {
		e.model.mu.Lock()
		defer e.model.mu.Unlock()
		e.model.orphans.Adopt(&e.metrics)
		return
	}
	e.metrics.Release()
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
		name, help, kind := r.String(), r.String(), backend.MetricKind(r.Uint8())
		if e.model.spec.Metrics == nil || r.Err() != nil {
			return "", status.New(status.Unavailable, "this server has no metrics")
		}
		f, err := e.model.spec.Metrics.Family(name, help, kind)
		if err != nil {
			return "", err
		}
		number := m.Next()
		m.AddFamily(number, f)
		return strconv.FormatUint(uint64(number), 10), nil
	}
	number := r.Uint32()
	if operation == metricRelease {
		m.Drop(number)
		return "", nil
	}
	if operation == metricNew {
		return e.newMetric(number, r)
	}
	one := m.Metric(number)
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

// newMetric makes a metric of the family with a number, with the labels of a JSON object.
func (e *events) newMetric(family uint32, r *child.Reader) (string, error) {
	var values map[string]any
	wrong := json.Unmarshal(r.Next(uint64(r.Uint32())), &values)
	var bounds []float64
	for range r.Uint32() {
		if r.Err() != nil {
			break
		}
		bounds = append(bounds, math.Float64frombits(r.Uint64()))
	}
	f := e.metrics.Family(family)
	if f == nil || wrong != nil || r.Err() != nil {
		return "", status.New(status.Internal, "the metric family was deleted")
	}
	var labels []backend.MetricLabel
	for name, value := range values {
		text, ok := value.(string)
		if !ok {
			return "", status.New(status.Internal, "attempt to access JSON non-string as string")
		}
		labels = append(labels, backend.MetricLabel{Name: name, Value: text})
	}
	one, err := f.Metric(labels, bounds)
	if err != nil {
		return "", err
	}
	number := e.metrics.Next()
	e.metrics.AddMetric(number, family, one)
	return strconv.FormatUint(uint64(number), 10), nil
}
