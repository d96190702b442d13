package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"triton/server/cache"
)

// cacheGauge is one metric of the local cache.
type cacheGauge struct {
	name, help string
	value      func(*cache.Counts) float64
}

// cacheGauges are Triton's metrics, in its order.
var cacheGauges = []cacheGauge{
	{"nv_cache_util", "Cache utilization [0.0 - 1.0]", func(c *cache.Counts) float64 { return float64(c.Bytes) / float64(c.Size) }},
	{"nv_cache_num_entries", "Number of responses stored in response cache", func(c *cache.Counts) float64 { return float64(c.Entries) }},
	{"nv_cache_num_hits", "Number of cache hits in response cache", func(c *cache.Counts) float64 { return float64(c.Hits) }},
	{"nv_cache_num_misses", "Number of cache misses in response cache", func(c *cache.Counts) float64 { return float64(c.Misses) }},
	{"nv_cache_num_lookups", "Number of cache lookups in response cache", func(c *cache.Counts) float64 { return float64(c.Hits + c.Misses) }},
	{"nv_cache_num_evictions", "Number of cache evictions in response cache", func(c *cache.Counts) float64 { return float64(c.Evictions) }},
	{
		"nv_cache_lookup_duration", "Total cache lookup duration (hit and miss), in microseconds",
		func(c *cache.Counts) float64 { return float64(c.LookupTime / 1000) },
	},
	{
		"nv_cache_insertion_duration", "Total cache insertion duration, in microseconds",
		func(c *cache.Counts) float64 { return float64(c.InsertTime / 1000) },
	},
}

// cacheMetrics collects the gauges of the local cache.
type cacheMetrics struct{ local *cache.Local }

func (cacheMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads all counts at once.
func (m cacheMetrics) Collect(out chan<- prometheus.Metric) {
	counts := m.local.Counts()
	for _, g := range cacheGauges {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue, g.value(&counts))
	}
}
