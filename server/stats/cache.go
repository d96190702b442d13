package stats

import "github.com/prometheus/client_golang/prometheus"

const (
	hitSummary      = "nv_cache_hit_summary_per_model"
	hitSummaryHelp  = "Summary of cache hit counts/durations per model, in microseconds."
	missSummary     = "nv_cache_miss_summary_per_model"
	missSummaryHelp = "Summary of cache miss counts/durations per model, in microseconds."
)

// cacheSamples are the distributions of the durations of response cache calls.
type cacheSamples struct{ hits, misses prometheus.Summary }

// cacheSamples returns the distributions of the settings; nil without any.
func (s *settings) cacheSamples() *cacheSamples {
	if !s.cached || !s.summaries {
		return nil
	}
	return &cacheSamples{s.summary(hitSummary, hitSummaryHelp), s.summary(missSummary, missSummaryHelp)}
}

// CacheHit holds the durations of one request answered from the response cache, in
// nanoseconds.
type CacheHit struct {
	Total  int64 // from received to answered
	Queued int64 // before the lookup
	Lookup int64
}

// Hit counts a request that the response cache answered: a success without inference.
func (m *Model) Hit(h CacheHit) {
	m.success.add(1, h.Total)
	m.queue.add(1, h.Queued)
	m.hits.add(1, h.Lookup)
	m.FirstResponse(h.Total)
	if m.samples != nil {
		m.samples.observe(h.Total, h.Queued)
	}
	if m.cache != nil {
		m.cache.hits.Observe(float64(max(h.Lookup, 0) / 1000))
	}
}

// Miss counts a request that was not in the response cache and was computed. ns is the
// duration of the lookup and the insertion. The total time of the request contains it
// already, and Miss adds it again, as Triton does.
func (m *Model) Miss(ns int64) {
	m.misses.add(1, ns)
	m.success.add(0, ns)
	if m.cache != nil {
		m.cache.misses.Observe(float64(max(ns, 0) / 1000))
	}
}
