package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"triton/server/fleet"
)

var (
	stateGeneration = prometheus.NewDesc("triton_state_generation", "Generation of the desired state in force", nil, nil)
	stateSuccess    = prometheus.NewDesc("triton_state_last_success_timestamp_seconds",
		"Time at which the server last was as the desired state says, in seconds since 1970", nil, nil)
	stateErrors   = prometheus.NewDesc("triton_state_errors_total", "Number of failed reads of the desired state and of looks with failed actions", nil, nil)
	stateFailures = prometheus.NewDesc("triton_state_failed_actions", "Number of actions of the desired state that fail now", nil, nil)
)

// fleetMetrics collects the metrics of the fleet state.
type fleetMetrics struct{ *fleet.Controller }

// Describe implements prometheus.Collector.
func (fleetMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- stateGeneration
	to <- stateSuccess
	to <- stateErrors
	to <- stateFailures
}

// Collect implements prometheus.Collector.
func (m fleetMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.Status()
	at := 0.0
	if s.LastSuccess != nil {
		at = float64(s.LastSuccess.UnixMilli()) / 1000
	}
	to <- prometheus.MustNewConstMetric(stateGeneration, prometheus.GaugeValue, float64(s.Generation))
	to <- prometheus.MustNewConstMetric(stateSuccess, prometheus.GaugeValue, at)
	to <- prometheus.MustNewConstMetric(stateErrors, prometheus.CounterValue, float64(s.Errors))
	to <- prometheus.MustNewConstMetric(stateFailures, prometheus.GaugeValue, float64(len(s.Failures)))
}
