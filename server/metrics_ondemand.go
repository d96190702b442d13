package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"triton/server/repository"
	"triton/server/repository/ondemand"
)

// Metrics of the memory of models and of loading on demand. Triton has none.
var (
	memoryBudget = prometheus.NewDesc("triton_model_memory_budget_bytes",
		"Memory that models may use on a device, in bytes", []string{"device"}, nil)
	memoryUsed = prometheus.NewDesc("triton_model_memory_used_bytes",
		"Memory of the loaded models and of the loads under way on a device, in bytes", []string{"device"}, nil)
	demandLoads = prometheus.NewDesc("triton_model_demand_loads_total",
		"Number of models loaded by requests, by clients with a memory budget, or at the start", nil, nil)
	demandFailed = prometheus.NewDesc("triton_model_demand_load_failures_total",
		"Number of loads by requests that failed", nil, nil)
	evictions = prometheus.NewDesc("triton_model_evictions_total",
		"Number of models that were unloaded without a client's request, by reason", []string{"reason"}, nil)
	thrashLoads = prometheus.NewDesc("triton_model_thrash_loads_total",
		"Number of loads of models that had been unloaded less than a minute before to make room", nil, nil)
	thrashing = prometheus.NewDesc("triton_model_thrashing",
		"1 while the same models are unloaded and loaded again and again, else 0", nil, nil)
	waitingRequests = prometheus.NewDesc("triton_model_demand_waiting_requests",
		"Number of requests that wait for the load of their model", nil, nil)
	waitingLoads = prometheus.NewDesc("triton_model_demand_waiting_loads",
		"Number of loads that wait for memory", nil, nil)
	demandRejected = prometheus.NewDesc("triton_model_demand_rejections_total",
		"Number of requests for models that were not loaded and could not wait, by reason", []string{"reason"}, nil)
)

// modelMemory returns the memory of a version. With namespaces it has the model's as a label, as the
// other metrics of models.
func modelMemory(v *repository.VersionMemory, kind string, bytes int64) prometheus.Metric {
	labels := prometheus.Labels{"model": v.ID.Name, "version": v.Version, "kind": kind, "device": string(v.Device)}
	if v.ID.Namespace != "" {
		labels["namespace"] = v.ID.Namespace
	}
	desc := prometheus.NewDesc("triton_model_memory_bytes",
		"Memory of a loaded model version on a device, in bytes: estimated before its load, and measured", nil, labels)
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(bytes))
}

// demandMetrics collects the memory of models and the counts of loading on demand.
type demandMetrics struct{ models *repository.Repository }

// Describe sends nothing: most metrics depend on the control mode.
func (demandMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m demandMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, v := range m.models.Memory() {
		if v.Estimated >= 0 {
			to <- modelMemory(&v, "estimated", v.Estimated)
		}
		if v.Measured >= 0 {
			to <- modelMemory(&v, "measured", v.Measured)
		}
	}
	c := m.models.Demand()
	if c == nil {
		return
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for device, n := range c.Budget {
		gauge(memoryBudget, float64(n), string(device))
		gauge(memoryUsed, float64(c.Allocated[device]), string(device))
	}
	counter(demandLoads, c.Loads)
	counter(demandFailed, c.Failed)
	for _, reason := range []ondemand.Reason{ondemand.Pressure, ondemand.Excess, ondemand.Expired} {
		counter(evictions, c.Evictions[reason], string(reason))
	}
	counter(thrashLoads, c.ThrashLoads)
	on := 0.0
	if c.Thrashing {
		on = 1
	}
	gauge(thrashing, on)
	gauge(waitingRequests, float64(c.Waiting))
	gauge(waitingLoads, float64(c.Queued))
	counter(demandRejected, c.Refused, "waiting")
	counter(demandRejected, c.Expired, "timeout")
	counter(demandRejected, c.TooLarge, "budget")
}
