package stats

import (
	"sort"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram counts values by size. It has no lock.
type histogram struct {
	bounds []float64 // ascending; a value is counted at the first bound that is not less
	counts []atomic.Uint64
	sum    atomic.Int64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(v int64) {
	v = max(v, 0)
	h.counts[sort.SearchFloat64s(h.bounds, float64(v))].Add(1)
	h.sum.Add(v)
}

// metric returns the histogram at this moment.
func (h *histogram) metric(d *prometheus.Desc, labels []string) (prometheus.Metric, error) {
	buckets, total := make(map[float64]uint64, len(h.bounds)), uint64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		if i < len(h.bounds) {
			buckets[h.bounds[i]] = total
		}
	}
	return prometheus.NewConstHistogram(d, total, float64(h.sum.Load()), buckets, labels...)
}
