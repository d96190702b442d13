package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"triton/server/store/mirror"
)

// pathMetric is a metric of one remote repository path.
type pathMetric struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*mirror.Stats) float64
}

var pathMetrics = []pathMetric{
	{"triton_repository_up", "1 if the remote repository could be listed the last time, else 0", prometheus.GaugeValue, func(s *mirror.Stats) float64 {
		if s.Up {
			return 1
		}
		return 0
	}},
	{"triton_repository_download_bytes_total", "Bytes downloaded", prometheus.CounterValue, func(s *mirror.Stats) float64 { return float64(s.Bytes) }},
	{"triton_repository_download_seconds_total", "Seconds of downloads, of each file for itself", prometheus.CounterValue, func(s *mirror.Stats) float64 { return s.Seconds }},
	{"triton_repository_listings_total", "Listings", prometheus.CounterValue, func(s *mirror.Stats) float64 { return float64(s.Listings) }},
	{"triton_repository_listing_seconds_total", "Seconds of listings", prometheus.CounterValue, func(s *mirror.Stats) float64 { return s.ListSeconds }},
	{"triton_repository_retries_total", "Requests that failed and were sent again", prometheus.CounterValue, func(s *mirror.Stats) float64 { return float64(s.Retries) }},
	{"triton_repository_failures_total", "Listings and fetches of models that failed", prometheus.CounterValue, func(s *mirror.Stats) float64 { return float64(s.Failures) }},
}

// cacheMetric is a metric of the cache of remote repositories.
type cacheMetric struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*mirror.CacheStats) int64
}

var fileCacheMetrics = []cacheMetric{
	{"triton_repository_cache_bytes", "Bytes in the cache of remote repositories", prometheus.GaugeValue, func(s *mirror.CacheStats) int64 { return s.Bytes }},
	{"triton_repository_cache_limit_bytes", "Limit of the cache of remote repositories; 0 is none", prometheus.GaugeValue, func(s *mirror.CacheStats) int64 { return s.Limit }},
	{"triton_repository_cache_hits_total", "Files that the cache had", prometheus.CounterValue, func(s *mirror.CacheStats) int64 { return s.Hits }},
	{"triton_repository_cache_misses_total", "Files that were downloaded", prometheus.CounterValue, func(s *mirror.CacheStats) int64 { return s.Misses }},
	{"triton_repository_cache_evictions_total", "Files that were removed from the cache", prometheus.CounterValue, func(s *mirror.CacheStats) int64 { return s.Evictions }},
}

// repositoryMetrics collects the metrics of remote repositories. There are none without such paths.
type repositoryMetrics struct{ *remotes }

// Describe describes nothing: which metrics there are depends on the paths.
func (repositoryMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads all counters at once.
func (m repositoryMetrics) Collect(out chan<- prometheus.Metric) {
	paths, cache := m.stats()
	for _, s := range paths {
		for _, d := range pathMetrics {
			desc := prometheus.NewDesc(d.name, d.help, []string{"repository"}, nil)
			out <- prometheus.MustNewConstMetric(desc, d.kind, d.value(&s), s.Path)
		}
	}
	if cache == nil {
		return
	}
	for _, d := range fileCacheMetrics {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(d.name, d.help, nil, nil), d.kind, float64(d.value(cache)))
	}
}
