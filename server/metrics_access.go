package server

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"triton/server/access"
)

var (
	accessCalls = prometheus.NewDesc("triton_access_calls_total",
		"Number of calls by what the rules of access say: allowed, unauthenticated, denied, delayed for wrong credentials, limited by a quota, unrecorded because the audit log is full",
		[]string{"result"}, nil)
	accessReloads = prometheus.NewDesc("triton_access_reload_failures_total", "Number of readings of the access policy and API keys that found mistakes", nil, nil)
	accessStale   = prometheus.NewDesc("triton_access_files_stale", "Number of files of the access policy and API keys whose last good state is in force, because they are broken or missing now", nil, nil)
	accessKeys    = prometheus.NewDesc("triton_access_jwt_keys_failures_total", "Number of failed readings of the keys for tokens", nil, nil)
	limitRefusals = prometheus.NewDesc("triton_limit_refusals_total",
		"Number of requests refused because their caller has used up a quota, by principal (the first 100; then other), priority class and quota: requests, rows, bytes, concurrent",
		[]string{"principal", "class", "quota"}, nil)
	auditDropped = prometheus.NewDesc("triton_audit_dropped_total", "Number of calls that are missing in the audit log", nil, nil)
)

// accessMetrics collects the metrics of a guard.
type accessMetrics struct{ *access.Guard }

// Describe implements prometheus.Collector.
func (accessMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- accessCalls
	to <- accessReloads
	to <- accessStale
	to <- accessKeys
	to <- auditDropped
	to <- limitRefusals
}

// Collect implements prometheus.Collector.
func (m accessMetrics) Collect(to chan<- prometheus.Metric) {
	c := m.Counts()
	for _, r := range []struct {
		result string
		n      int64
	}{{"allowed", c.Admitted}, {"unauthenticated", c.Unauthenticated}, {"denied", c.Denied}, {"delayed", c.Delayed}, {"limited", c.Limited}, {"unrecorded", c.Unrecorded}} {
		to <- prometheus.MustNewConstMetric(accessCalls, prometheus.CounterValue, float64(r.n), r.result)
	}
	to <- prometheus.MustNewConstMetric(accessReloads, prometheus.CounterValue, float64(c.ReloadFailures))
	to <- prometheus.MustNewConstMetric(accessStale, prometheus.GaugeValue, float64(len(m.Problems())))
	to <- prometheus.MustNewConstMetric(accessKeys, prometheus.CounterValue, float64(c.KeyFailures))
	to <- prometheus.MustNewConstMetric(auditDropped, prometheus.CounterValue, float64(c.Dropped))
	for _, r := range m.Refused() {
		to <- prometheus.MustNewConstMetric(limitRefusals, prometheus.CounterValue, float64(r.N), strings.ToValidUTF8(r.Principal, "?"), r.Class.String(), r.Quota.String())
	}
}
