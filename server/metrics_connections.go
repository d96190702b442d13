package server

import (
	"github.com/prometheus/client_golang/prometheus"
)

// connectionMetrics collects the metrics of the connections of all ports.
type connectionMetrics struct{ *Server }

var (
	connectionsLimit = prometheus.NewDesc("triton_connections_limit",
		"Number of connections that all ports together may have, 0 for no limit", nil, nil)
	connectionsOpen = prometheus.NewDesc("triton_connections_open",
		"Number of open connections of all ports, if there is a limit", nil, nil)
	connectionsClosed = prometheus.NewDesc("triton_connections_closed_total",
		"Number of connections that the server closed, by reason", []string{"reason"}, nil)
	connectionsRefused = prometheus.NewDesc("triton_connections_refused_total",
		"Number of connections that were refused because the open ones had requests in flight", nil, nil)
)

// Describe implements prometheus.Collector.
func (connectionMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectionsLimit, connectionsOpen, connectionsClosed, connectionsRefused} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A server without ports has no limit.
func (m connectionMetrics) Collect(to chan<- prometheus.Metric) {
	l := m.connections
	to <- prometheus.MustNewConstMetric(connectionsLimit, prometheus.GaugeValue, float64(l.Max()))
	to <- prometheus.MustNewConstMetric(connectionsOpen, prometheus.GaugeValue, float64(l.Len()))
	to <- prometheus.MustNewConstMetric(connectionsClosed, prometheus.CounterValue, float64(l.Evicted()), "idle")
	to <- prometheus.MustNewConstMetric(connectionsClosed, prometheus.CounterValue, float64(l.Late()), "late")
	to <- prometheus.MustNewConstMetric(connectionsRefused, prometheus.CounterValue, float64(l.Refused()))
}
