package stats

import (
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"triton/server/infer"
)

// classes counts the time that the requests of known callers wait, by their priority class. The
// metrics exist for classes that have had requests.
type classes [infer.Classes]struct {
	requests, ns atomic.Uint64
}

// Waited counts a request of a class that has waited for ns.
func (m *Model) Waited(c infer.Class, ns int64) {
	of := &m.extensions.classes[c]
	of.requests.Add(1)
	of.ns.Add(uint64(max(ns, 0)))
}

const (
	classCountName = "triton_class_request_count"
	classCountHelp = "Number of requests of known callers that were taken into a batch, by priority class"
	classQueueName = "triton_class_queue_duration_us"
	classQueueHelp = "Cumulative queuing duration of requests of known callers in microseconds, by priority class"
)

// classes sends the counts of each class.
func (w *writer) classes(all *classes) {
	names := append(slices.Clone(w.names), "class")
	count := prometheus.NewDesc(classCountName, classCountHelp, names, nil)
	queue := prometheus.NewDesc(classQueueName, classQueueHelp, names, nil)
	for c := range all {
		n := all[c].requests.Load()
		if n == 0 {
			continue
		}
		values := append(slices.Clone(w.values), infer.Class(c).String()) //nolint:gosec // there are three
		m, err := prometheus.NewConstMetric(count, prometheus.CounterValue, float64(n), values...)
		w.send(count, m, err)
		m, err = prometheus.NewConstMetric(queue, prometheus.CounterValue, float64(all[c].ns.Load()/1000), values...)
		w.send(queue, m, err)
	}
}
